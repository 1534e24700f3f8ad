"""Blocks and unblocks seats for an operator."""

from datetime import datetime

from holdfast.domain import refusals
from holdfast.domain.group.command import Command, FailedAction
from holdfast.domain.group.footprint import Footprint, Needs, Resource, ResourceKind
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore, SeatsBlocked
from holdfast.domain.group.plan import (
    SEATS_FREED_BY_ONE_MAX,
    GroupPlan,
    key_of,
    resources_of,
    seats_of,
)
from holdfast.domain.group.transitions import SeatTransition, Transition
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.placement import Asked
from holdfast.domain.ids import HoldKey, OrganizationId, SeatId, SessionId, SessionKey
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.assignment import seat_resources
from holdfast.domain.seats.seat import BLOCKED_REASON_LENGTH_MAX, Seat, SeatStatus
from holdfast.domain.values import InvalidValue

SEATS_PER_BLOCKING_MAX = 1000


@immutable
class BlockSeats(Command):
    """Take seats off sale or, with `is_lifted`, put them back. Blocking a held seat ends its whole
    hold. Seats already in the wanted state are left alone."""

    organization_id: OrganizationId
    session_id: SessionId
    seat_ids: tuple[SeatId, ...]
    reason: str
    origin: Origin
    idempotency: IdempotencyKey | None = None
    is_lifted: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.seat_ids) <= SEATS_PER_BLOCKING_MAX:
            raise InvalidValue(
                "invalid_seats", f"Name 1 to {SEATS_PER_BLOCKING_MAX} seats per call"
            )
        if len(set(self.seat_ids)) != len(self.seat_ids):
            raise InvalidValue("duplicate_seat", "Name each seat only once")
        if not 1 <= len(self.reason) <= BLOCKED_REASON_LENGTH_MAX:
            raise InvalidValue(
                "invalid_reason", f"reason must have 1 to {BLOCKED_REASON_LENGTH_MAX} characters"
            )

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)

    def needs(self, learnt: NeedsMore) -> Needs:
        session_key = frozenset({self.session_key})
        return Needs(sessions=session_key, holds=learnt.holds, waitlists=session_key)

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        ended = plan.known(learnt.holds)
        freed = seats_of(ended)
        if freed > SEATS_FREED_BY_ONE_MAX:
            return Footprint(frozenset(), refusal=refusals.too_many_seats(freed))
        required = {Resource(ResourceKind.SESSION, self.organization_id, self.session_id)}
        required |= seat_resources(self.organization_id, self.seat_ids)
        required |= resources_of(ended) | key_of(self)
        return Footprint(frozenset(required), weight=len(self.seat_ids) + freed)

    def decide(self, ledger: Ledger) -> Decision:
        if self.session_key not in ledger.sessions:
            return Decision(refusals.session_not_found())
        seats = [ledger.seats[id_] for id_ in self.seat_ids if id_ in ledger.seats]
        if len(seats) < len(self.seat_ids) or any(
            seat.session_id != self.session_id for seat in seats
        ):
            return Decision(refusals.invalid_seat())
        changing = [seat for seat in seats if seat.is_blocked() is self.is_lifted]
        unchanged = tuple(seat.id for seat in seats if seat.is_blocked() is not self.is_lifted)
        ended = [] if self.is_lifted else _holds_on(changing)
        holds = [ledger.holds[key] for key in ended if key in ledger.holds]
        if len(holds) < len(ended) or not all(map(ledger.knows_places_of, holds)):
            return Decision(NeedsMore(holds=frozenset(ended)))
        transitions = tuple(
            Transition(hold, _ended(hold, ledger.now), self.origin, is_by_operator=True)
            for hold in holds
        )
        seat_transitions = tuple(_changed(seat, self) for seat in changing)
        blocked = SeatsBlocked(
            tuple(each.after for each in seat_transitions),
            unchanged,
            tuple(transition.after.id for transition in transitions),
            ledger.now,
        )
        return Decision(blocked, transitions, seat_transitions)

    def failed_action(self, refusal: Refusal) -> FailedAction:
        action = "seat.unblock_failed" if self.is_lifted else "seat.block_failed"
        asked = Asked(self.session_id, seat_ids=self.seat_ids)
        return FailedAction(action, seat_id=self.seat_ids[0], asked=asked)


def _ended(hold: Hold, now: datetime) -> Hold:
    return hold.expired(now) if hold.is_lapsed(now) else hold.released(now, is_given_up=False)


def _holds_on(seats: list[Seat]) -> list[HoldKey]:
    keys = [seat.hold_key for seat in seats if seat.status is SeatStatus.HELD]
    return list(dict.fromkeys(key for key in keys if key is not None))


def _changed(seat: Seat, command: BlockSeats) -> SeatTransition:
    if command.is_lifted:
        return SeatTransition(seat, seat.unblocked(), command.reason, command.origin)
    # Its hold has just ended.
    free = seat.released() if seat.status is SeatStatus.HELD else seat
    return SeatTransition(seat, free.blocked(command.reason), command.reason, command.origin)
