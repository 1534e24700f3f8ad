"""Applies the rate limits of organizations: to requests before their body is read, and to tickets
before the engine decides."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from holdfast.domain import refusals
from holdfast.domain.carts.fill_cart import FillCart
from holdfast.domain.carts.renew_cart import RenewCart
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import CartChanged, Placed
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import Ask, SeatAsk
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder
from holdfast.entrypoints.api.fairness.answers import EngineAnswers
from holdfast.entrypoints.api.fairness.calls import FairCalls
from holdfast.entrypoints.api.http.exchange import Call
from holdfast.ports.audit.attempts import AttemptJournal, FailedAttempt
from holdfast.ports.engine import Answer, Render
from holdfast.ports.holds import HoldReader, SeenHold
from holdfast.ports.rates import Want
from holdfast.services.access.rates.limiter import Taking
from holdfast.services.access.rates.subjects import Rates
from holdfast.services.reads import read

_SEATS = "seats_per_holder"


class RateGate:
    """Units are taken before the engine decides and given back unless it made a hold, so parallel
    requests never get more than the limit. Repeated requests cost nothing."""

    def __init__(
        self,
        rates: Rates,
        engine: EngineAnswers,
        attempts: AttemptJournal,
        blocking: FairCalls,
        holds: HoldReader,
    ) -> None:
        self.book = rates.book
        self._limiter = rates.limiter
        self._subjects = rates.subjects
        self._engine = engine
        self._attempts = attempts
        self._blocking = blocking
        self._holds = holds

    async def admit(self, call: Call) -> Refusal | None:
        """Count a request by its key and its address. One with a token counts for its holder, not
        for the key that issued the token."""
        principal = call.principal
        limits = call.limits = self.book.of.get(principal.organization_id)
        if limits is None:
            return None
        holder = principal.holder
        caller = (
            ("key", limits.requests_per_key, principal.credential_id.bytes)
            if holder is None
            else ("holder", limits.requests_per_holder, holder.key.bytes)
        )
        address = ("address", limits.requests_per_address, call.address.encode())
        wants = [
            self._subjects.want(principal.organization_id, f"requests_per_{name}", rate, subject)
            for name, rate, subject in (caller, address)
            if rate is not None
        ]
        return await self._take(call, wants) if wants else None

    async def place(self, call: Call, command: PlaceHold, render: Render | None) -> Answer:
        if call.limits is None:
            return await self._engine.answer(command, render)
        wants = self._wants(call, command.holder, _units(command.asks))
        refusal = await self._take(call, wants) if wants else None
        if refusal is None:
            return await self._answered(call, command, render, 0)
        is_over_seats = refusal.details["limit"] == _SEATS
        if is_over_seats and (command.idempotency is not None or command.named_seats):
            # It may be a repetition, which the engine alone can tell.
            return await self._engine.answer(replace(command, over_rate=refusal), render)
        return self._refused(command, refusal)

    async def fill(self, call: Call, command: FillCart, render: Render | None) -> Answer:
        """A cart counts by what it grows by. Others may change it meanwhile: then it still counts
        at least what it holds."""
        if call.limits is None:
            return await self._engine.answer(command, render)
        seen = await self._cart(call, command.cart)
        if isinstance(seen, Refusal):
            return Answer(seen)
        held = 0
        if seen is not None and seen.hold.is_active(seen.at):
            held = seen.hold.quantity
        units = max(0, _units([each.ask for each in command.asks]) - held)
        wants = self._wants(call, command.holder, units)
        return await self._answer(call, command, render, wants, held)

    async def renew(self, call: Call, command: RenewCart, render: Render | None) -> Answer:
        if call.limits is None:
            return await self._engine.answer(command, render)
        seen = await self._cart(call, command.cart)
        if isinstance(seen, Refusal):
            return Answer(seen)
        if seen is None:
            return await self._engine.answer(command, render)
        units = 0 if seen.hold.is_live(seen.at) else seen.hold.quantity
        wants = self._wants(call, command.holder or seen.hold.holder, units)
        return await self._answer(call, command, render, wants, seen.hold.quantity - units)

    async def _answer(
        self,
        call: Call,
        command: FillCart | RenewCart,
        render: Render | None,
        wants: Sequence[Want],
        held: int,
    ) -> Answer:
        refusal = await self._take(call, wants) if wants else None
        if refusal is not None:
            return self._refused(command, refusal)
        return await self._answered(call, command, render, held)

    async def _answered(
        self, call: Call, command: Command, render: Render | None, held: int
    ) -> Answer:
        """Give back what was not used: all of it, unless there is a new hold, and the difference if
        that is smaller than asked for."""
        answer = await self._engine.answer(command, render)
        outcome = answer.outcome
        used = 0
        if isinstance(outcome, Placed | CartChanged) and not outcome.is_repeat:
            used = max(0, outcome.hold.quantity - held)
        taking = call.takings[-1] if call.takings else None
        if taking is not None and taking.wants[-1].name == _SEATS:
            unused = taking.wants[-1].units - used
            if unused > 0:
                units = [0] * (len(taking.wants) - 1) + [unused]
                call.takings = (*call.takings[:-1], self._limiter.give_back(taking, units))
        return answer

    def _wants(self, call: Call, holder: Holder, units: int) -> list[Want]:
        """Of a buyer. The seats come last. A request with a token is counted already."""
        assert call.limits is not None
        own, want, subject = call.principal.organization_id, self._subjects.want, holder.key.bytes
        wants = []
        of_requests = call.limits.requests_per_holder
        if of_requests is not None and call.principal.holder is None:
            wants.append(want(own, "requests_per_holder", of_requests, subject))
        if call.limits.seats_per_holder is not None:
            wants.append(want(own, _SEATS, call.limits.seats_per_holder, subject, units))
        return wants

    async def _take(self, call: Call, wants: Sequence[Want]) -> Refusal | None:
        taking = await self._limiter.take(call.principal.organization_id, wants)
        call.takings = (*call.takings, taking)
        if taking.is_taken:
            return None
        want, retry_after_seconds = taking.refused_by
        return refusals.rate_limit_exceeded(want.name, want.rate, retry_after_seconds)

    async def _cart(self, call: Call, cart: str) -> SeenHold | Refusal | None:
        own = call.principal.organization_id
        return await self._blocking.run(own, read, lambda: self._holds.cart_hold(own, cart))

    def _refused(self, command: PlaceHold | FillCart | RenewCart, refusal: Refusal) -> Answer:
        failed = command.failed_action(refusal)
        if failed is not None:
            attempt = FailedAttempt.now(failed, command.organization_id, refusal, command.origin)
            self._attempts.failed(attempt)
        return Answer(refusal)


def rate_headers(takings: Sequence[Taking]) -> tuple[tuple[bytes, bytes], ...]:
    """As in the IETF draft "RateLimit header fields for HTTP"."""
    found = [
        (want, level)
        for taking in takings
        for want, level in zip(taking.wants, taking.levels, strict=True)
    ]
    policies = (f'"{want.name}";q={want.rate.count};w={want.rate.seconds}' for want, _ in found)
    rests = (
        f'"{want.name}";r={max(0, want.rate.count - level.used)};t={ceil(level.reset_seconds)}'
        for want, level in found
    )
    return (
        (b"ratelimit-policy", ", ".join(policies).encode("ascii")),
        (b"ratelimit", ", ".join(rests).encode("ascii")),
    )


def _units(asks: Sequence[Ask | SeatAsk]) -> int:
    return sum(len(ask.seat_ids) if isinstance(ask, SeatAsk) else ask.quantity for ask in asks)
