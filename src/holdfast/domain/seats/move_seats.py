"""Moves a hold to other seats of its session."""

from dataclasses import replace

from holdfast.domain import refusals
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.command import FailedAction, HoldCommand
from holdfast.domain.group.footprint import Footprint, Needs
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore, Placed
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.group.transitions import Transition, units_of
from holdfast.domain.holds.hold import Hold, Line
from holdfast.domain.holds.new_hold import make_lines, parts_of
from holdfast.domain.holds.place_hold import contested_seat, footprint_of
from holdfast.domain.holds.placement import LINES_MAX, Asked, Placement, SeatAsk, Wish
from holdfast.domain.holds.preconditions import Addition, Fit, fit, refuse_stale, refuse_status
from holdfast.domain.ids import HoldId, OrganizationId, SeatId, SessionId, SessionKey
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat_choice import pick_seats
from holdfast.domain.values import InvalidValue

SEATS_MOVED_MAX = LINES_MAX


@immutable
class MoveSeats(HoldCommand):
    """Exchange seats of an active hold for others of its session, all or nothing, for an operator.
    Each of `moves` is a seat of the hold and the one to get instead. The expiry stays, and so do
    ticket types and prices: a seat that is not sold as its ticket type is refused. With
    `seen_version`, the hold must not have changed since."""

    can_choose_seats = True

    organization_id: OrganizationId
    session_id: SessionId
    hold_id: HoldId
    moves: tuple[tuple[SeatId, SeatId], ...]
    origin: Origin
    idempotency: IdempotencyKey | None = None
    seen_version: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.moves) <= SEATS_MOVED_MAX:
            raise InvalidValue("invalid_seats", f"Move 1 to {SEATS_MOVED_MAX} seats at once")
        for seats in zip(*self.moves, strict=True):
            if len(set(seats)) != len(seats):
                raise InvalidValue("duplicate_seat", "Name each seat only once")

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)

    @property
    def new_seats(self) -> tuple[SeatId, ...]:
        return tuple(seat_id for _, seat_id in self.moves)

    def needs(self, learnt: NeedsMore) -> Needs:
        return Needs(
            sessions=frozenset({self.session_key}),
            holds=learnt.holds | {self.hold_key},
            lapsed=learnt.lapsed,
            wishes=(Wish(self.session_key, (SeatAsk(self.new_seats),)),),
        )

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        of_hold = HoldCommand.footprint(self, plan, learnt)  # super() fails with slots
        for hold in plan.known((self.hold_key,)):
            of_seats = footprint_of(plan, _placement(self, hold), learnt)
            if of_seats.awaits is not None or of_seats.refusal is not None:
                return of_seats
            required = of_seats.required | of_hold.required
            return replace(
                of_seats,
                required=required,
                optional=of_seats.optional - required,
                holding=None,  # its holder gets no more than before
                new_holds=(),
                weight=of_seats.weight + of_hold.weight,
            )
        return of_hold

    def decide(self, ledger: Ledger) -> Decision:
        hold = ledger.holds.get(self.hold_key)
        if hold is None or hold.session_id != self.session_id:
            return Decision(refusals.hold_not_found())
        if hold.is_expired(ledger.now):
            return Decision(refusals.hold_expired())
        if not hold.is_active(ledger.now):
            return Decision(refusals.invalid_hold_state(hold.status.value))
        if not ledger.knows_places_of(hold):
            return Decision(NeedsMore())
        session = ledger.sessions[hold.session_key]
        refusal = (
            refuse_stale(hold, self.seen_version)
            or refuse_status(session)
            or _refuse_seats(hold, self)
        )
        return Decision(refusal) if refusal is not None else _move(ledger, session, self, hold)

    def failed_action(self, refusal: Refusal) -> FailedAction:
        seat_id = contested_seat(refusal) or self.new_seats[0]
        asked = Asked(self.session_id, seat_ids=self.new_seats, quantity=len(self.moves))
        return FailedAction("hold.move_failed", self.hold_id, seat_id, asked)


def _refuse_seats(hold: Hold, command: MoveSeats) -> Refusal | None:
    has = {seat.id for seat in hold.seats}
    if not has.issuperset(seat_id for seat_id, _ in command.moves):
        return refusals.not_in_hold()
    return refusals.in_hold_already() if has.intersection(command.new_seats) else None


def _move(ledger: Ledger, session: SessionCatalog, command: MoveSeats, hold: Hold) -> Decision:
    instead_of = dict(command.moves)
    left = [line for line in hold.lines if line.seat is not None and line.seat.id in instead_of]
    kept = [line for line in hold.lines if line.seat is None or line.seat.id not in instead_of]
    placement = _exchange(command, hold, left)
    picked = pick_seats(ledger, session, placement, hold.id)
    if isinstance(picked, NeedsMore | Refusal):
        return Decision(picked)
    lines = make_lines(ledger, session, parts_of(placement), picked)
    demand = units_of((*kept, *lines)) - units_of(hold.lines)
    added = Addition(placement.asks, lines, demand, picked)
    # Lapsed holds that make room have not ended for the operator's reason.
    room = fit(ledger, session, added, replace(command.origin, reason=None))
    if not isinstance(room, Fit):
        return room if isinstance(room, Decision) else Decision(room)
    moved = hold.changed(ledger.now, kept, lines, hold.holder, hold.remarks)
    transition = Transition(hold, moved, command.origin, is_by_operator=True)
    transitions = (*room.ended, transition)
    return Decision(Placed(moved, ledger.now), transitions, passed=room.passed)


def _placement(command: MoveSeats, hold: Hold) -> Placement:
    """The new seats as a hold of their own, of any ticket type."""
    return Placement(
        organization_id=command.organization_id,
        session_id=command.session_id,
        hold_id=command.hold_id,
        holder=hold.holder,
        asks=(SeatAsk(command.new_seats),),
        origin=command.origin,
        idempotency=command.idempotency,
    )


def _exchange(command: MoveSeats, hold: Hold, left: list[Line]) -> Placement:
    """Each new seat with the ticket type, price and cart item of the seat that it replaces."""
    instead_of = dict(command.moves)
    asks = tuple(
        SeatAsk((instead_of[line.seat.id],), line.ticket_type_id, line.unit_price_minor)
        for line in left
        if line.seat is not None
    )
    items = tuple(line.item for line in left if line.item is not None)
    return replace(_placement(command, hold), asks=asks, items=items)
