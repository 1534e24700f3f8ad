"""Applies the rate limits of organizations: to requests before their body is read, and to tickets
before the engine decides."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from holdfast.domain import refusals
from holdfast.domain.carts.fill_cart import FillCart
from holdfast.domain.carts.items import acquired, difference
from holdfast.domain.carts.renew_cart import RenewCart
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import CartChanged, Placed
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import Ask, SeatAsk
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder
from holdfast.entrypoints.api.access.networks import network_of
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
# Changes limits: one that is too low must not keep an organization from raising it.
_UNLIMITED = ("PATCH", "/api/organization")


class RateGate:
    """Units are taken before the engine decides and given back unless it reserved something, so
    parallel requests never get more than the limit. Repeated requests cost nothing."""

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
        self._settling: set[asyncio.Task[Answer]] = set()

    async def admit(self, call: Call) -> Refusal | None:
        """Count a request by its key and its address. One with a token counts for its holder, not
        for the key that issued the token."""
        principal = call.principal
        limits = call.limits = self.book.of.get(principal.organization_id)
        if limits is None or (call.method, call.route_path) == _UNLIMITED:
            return None
        holder = principal.holder
        caller = (
            ("key", limits.requests_per_key, principal.credential_id.bytes)
            if holder is None
            else ("holder", limits.requests_per_holder, holder.key.bytes)
        )
        address = ("address", limits.requests_per_address, network_of(call.address).encode())
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
            return await self._answered(call, command, render)
        is_over_seats = refusal.details["limit"] == _SEATS
        if is_over_seats and (command.idempotency is not None or command.named_seats):
            return await self._repeated(call, command, render, refusal)
        return self._refused(command, refusal)

    async def _repeated(
        self, call: Call, command: PlaceHold, render: Render | None, refusal: Refusal
    ) -> Answer:
        """Beyond the limit, only the engine can recognize a repetition. A buyer gets as many such
        checks as the limit allows seats; after that, no request of theirs reaches the engine."""
        assert call.limits is not None
        assert call.limits.seats_per_holder is not None
        own, rate = call.principal.organization_id, call.limits.seats_per_holder
        attempt = self._subjects.want(own, "attempts_per_holder", rate, command.holder.key.bytes)
        taking = await self._limiter.take(own, [attempt])
        if not taking.is_taken:
            return self._refused(command, refusal)
        answer = await self._engine.answer(replace(command, over_rate=refusal), render)
        if not isinstance(answer.outcome, Refusal):
            self._limiter.give_back(taking, [1])
        return answer

    async def fill(self, call: Call, command: FillCart, render: Render | None) -> Answer:
        """A cart counts what is new in its hold. Other requests may change it in the meantime, so
        the engine says what it really acquired."""
        if call.limits is None:
            return await self._engine.answer(command, render)
        seen = await self._cart(call, command.cart)
        if isinstance(seen, Refusal):
            return Answer(seen)
        had = seen.hold.lines if seen is not None and seen.hold.is_active(seen.at) else ()
        found = difference(had, command.asks, command.group_id)
        parts = [ask for ask, _ in found.parts]
        units = acquired(had, (*found.kept, *found.reduced), parts)
        wants = self._wants(call, command.holder, units)
        return await self._answer(call, command, render, wants)

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
        return await self._answer(call, command, render, wants)

    async def _answer(
        self,
        call: Call,
        command: FillCart | RenewCart,
        render: Render | None,
        wants: Sequence[Want],
    ) -> Answer:
        refusal = await self._take(call, wants) if wants else None
        if refusal is not None:
            return self._refused(command, refusal)
        # A client that hangs up must not keep the cart's seats uncharged.
        settled = asyncio.create_task(self._answered(call, command, render))
        self._settling.add(settled)
        settled.add_done_callback(self._settling.discard)
        return await asyncio.shield(settled)

    async def _answered(self, call: Call, command: Command, render: Render | None) -> Answer:
        """Give back what was not used, and charge what was used without having been taken: a cart
        may have changed since it was read."""
        answer = await self._engine.answer(command, render)
        taking = call.takings[-1] if call.takings else None
        if taking is not None and taking.wants[-1].name == _SEATS:
            others = [0] * (len(taking.wants) - 1)
            unused = taking.wants[-1].units - _reserved(answer)
            if unused > 0:
                taking = self._limiter.give_back(taking, [*others, unused])
            elif unused < 0:
                taking = await self._limiter.charge(taking, [*others, -unused])
            call.takings = (*call.takings[:-1], taking)
        return answer

    def _wants(self, call: Call, holder: Holder, units: int) -> list[Want]:
        """The buyer's wants, with the seats last. A request with a token is counted already."""
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


def _reserved(answer: Answer) -> int:
    match answer.outcome:
        case Placed(is_repeat=False, hold=hold):
            return hold.quantity
        case CartChanged(is_repeat=False, acquired=more):
            return more
    return 0


def _units(asks: Sequence[Ask | SeatAsk]) -> int:
    return sum(len(ask.seat_ids) if isinstance(ask, SeatAsk) else ask.quantity for ask in asks)
