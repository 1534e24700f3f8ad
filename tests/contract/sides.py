"""A store with its engine and venue: one of two sides that must behave alike."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from typing import Any, NamedTuple
from uuid import uuid4

from holdfast.domain.group.command import Command
from holdfast.domain.group.footprint import Needs, Survey
from holdfast.domain.group.outcomes import (
    AlreadyConverted,
    CartChanged,
    CartEmptied,
    CheckoutStarted,
    Converted,
    Expired,
    Explained,
    Extended,
    HoldPromoted,
    OrderCancelled,
    Outcome,
    Placed,
    Promoted,
    RefundRecorded,
    Released,
    Reserved,
    SeatsBlocked,
    Waiting,
    Warned,
)
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import CheckoutId, HoldId, OrderId, TicketId
from holdfast.domain.orders.order import Attendee, Order
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import Holder, Money
from holdfast.domain.waitlist.obstacles import Explanation
from holdfast.domain.waitlist.queues import Waitlist
from holdfast.engine import Admission, Limits
from holdfast.ports.engine import Answer
from holdfast.ports.store import CommitState, CommitToken, Group, Store, StoreConnection
from tests.contract.seen import World, seen_hold
from tests.contract.venues import Plan, Venue
from tests.contract.wishes import STEP_SECONDS

# Long, so slow machines do not fail the comparison.
PATIENCE_SECONDS = 60


@dataclass
class Gate:
    """Holds an engine back until opened, so all commands submitted meanwhile form one group. Seats
    found depend on the group they are found in."""

    store: Store
    entered: threading.Event = field(default_factory=threading.Event)
    is_open: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.is_open.set()

    def connect(self) -> "_GatedConnection":
        return _GatedConnection(self, self.store.connect())


@dataclass
class _GatedConnection:
    gate: Gate
    inner: StoreConnection

    def survey(self, needs: Needs, *, is_patient: bool = False) -> Survey:
        """Always patient, so nobody is refused before the seats are read."""
        self.gate.entered.set()
        assert self.gate.is_open.wait(PATIENCE_SECONDS)
        return self.inner.survey(needs, is_patient=True)

    @contextmanager
    def group(self) -> Iterator[Group]:
        with self.inner.group() as group:
            yield group

    def resolve(self, token: CommitToken) -> CommitState:
        return self.inner.resolve(token)

    def close(self) -> None:
        self.inner.close()


class OrderShown(NamedTuple):
    """An order without its time and the ids of its venue."""

    hold_ids: tuple[HoldId, ...]
    holder: Holder
    total: Money
    checkout_id: CheckoutId | None
    status: str
    version: int
    tickets: list["TicketShown"]


class TicketShown(NamedTuple):
    id: TicketId
    hold_id: HoldId
    code: str
    unit_price_minor: int
    seat: str | None
    attendee: Attendee | None
    voided_version: int | None
    refund_reference: str | None


class Side:
    def __init__(self, world: World, plan: Plan) -> None:
        self.world = world
        self.venue: Venue = world.build(plan)
        self._bystander = world.venue({}, {})
        self._gate = Gate(world.store)
        self._engine = Admission(self._gate, Limits(deadline_seconds=PATIENCE_SECONDS))
        self._engine.start()
        self._looking = world.store.connect()
        self.placed: dict[HoldId, Hold] = {}
        self._names = {str(place.id): name for name, place in self.venue.places.items()}

    def run(self, commands: list[Command]) -> list[tuple[Any, ...]]:
        """Run the commands in this order as one group."""
        self._gate.is_open.clear()
        self._gate.entered.clear()
        plug = self._engine.submit(self._bystander.expire(HoldId(uuid4())))
        assert self._gate.entered.wait(PATIENCE_SECONDS)
        futures = [self._engine.submit(command, self._render) for command in commands]
        self._gate.is_open.set()
        answers = [future.result(PATIENCE_SECONDS) for future in (plug, *futures)][1:]
        for answer in answers:
            if isinstance(answer.outcome, Placed):
                self.placed[answer.outcome.hold.id] = answer.outcome.hold
        return [self._shown(answer) for answer in answers]

    def close(self) -> None:
        self._engine.stop()
        self._looking.close()
        self.world.close()

    def names_of(self, ids: Any) -> list[str]:
        return [self._names[str(seat_id)] for seat_id in ids]

    def _render(self, outcome: Outcome) -> bytes:
        return repr(self._shown(Answer(outcome))).encode()

    def _shown(self, answer: Answer) -> tuple[Any, ...]:
        """The parts that two stores must agree on: no times, no ids of their venues."""
        match answer.outcome:
            case Placed() | Waiting() | CartChanged() | CartEmptied() | Promoted() as outcome:
                return self._shown_of_cart(outcome)
            case HoldPromoted() | Explained() as outcome:
                return self._shown_of_waitlist(outcome)
            case Extended(hold=hold):
                return ("extended", *_life(hold))
            case (
                CheckoutStarted()
                | Converted()
                | OrderCancelled()
                | RefundRecorded()
                | AlreadyConverted() as outcome
            ):
                return self._shown_of_order(outcome)
            case Warned() as warned:
                return ("warned", sorted(warned.hold_ids))
            case Released(hold=hold) | Reserved(hold=hold):
                return ("released", hold.id, hold.status, hold.version)
            case Expired() as expired:
                return ("expired", sorted(expired.hold_ids))
            case SeatsBlocked(changed=changed, unchanged=unchanged, ended=ended):
                seats = self.names_of(seat.id for seat in changed)
                return ("blocked", seats, self.names_of(unchanged), sorted(ended))
            case Refusal(code=code, details=details):
                assert code not in {RefusalCode.SERVICE_UNAVAILABLE, RefusalCode.INTERNAL_ERROR}
                return ("refused", code, self._translated(details))
            case _:
                return ("replayed", answer.body)

    def _shown_of_cart(
        self, outcome: Placed | Waiting | CartChanged | CartEmptied | Promoted
    ) -> tuple[Any, ...]:
        match outcome:
            case Placed(hold=hold, is_repeat=is_repeat):
                return ("placed", *self._contents(hold), is_repeat)
            case Waiting(hold=hold, position=position, is_repeat=is_repeat):
                return ("waiting", *self._contents(hold), position, is_repeat)
            case CartChanged(hold=hold, is_repeat=is_repeat):
                return ("changed", *self._contents(hold), is_repeat)
            case CartEmptied(hold=emptied):
                return ("emptied", emptied and emptied.id)
            case Promoted():
                return ("promoted",)

    def _shown_of_order(
        self,
        outcome: CheckoutStarted | Converted | OrderCancelled | RefundRecorded | AlreadyConverted,
    ) -> tuple[Any, ...]:
        match outcome:
            case CheckoutStarted(checkout_id=checkout_id, holds=holds, is_repeat=is_repeat):
                return ("checkout", checkout_id, [_life(hold) for hold in holds], is_repeat)
            case Converted(order=order, holds=holds):
                return ("converted", self._order(order), [_life(hold) for hold in holds])
            case OrderCancelled(order=order, ticket_ids=ticket_ids, amount=amount):
                return ("cancelled", self._order(order), ticket_ids, amount)
            case RefundRecorded(order=order, ticket_ids=ticket_ids):
                return ("refunded", self._order(order), ticket_ids)
            case AlreadyConverted(order_id=order_id):
                return ("converted before", order_id)

    def _contents(self, hold: Hold) -> tuple[Any, ...]:
        lines = [(line.quantity, line.number, line.item and line.item.id) for line in hold.lines]
        seats = self.names_of(seat.id for seat in hold.seats)
        return (hold.id, hold.status, hold.version, lines, seats)

    def _shown_of_waitlist(self, outcome: HoldPromoted | Explained) -> tuple[Any, ...]:
        if isinstance(outcome, HoldPromoted):
            return ("promoted by hand", *self._contents(outcome.hold), outcome.overtaken)
        return ("explained", [(id_, self._why(each)) for id_, each in outcome.parties.items()])

    def _why(self, explanation: Explanation | None) -> tuple[Any, ...]:
        if explanation is None:
            return ("nothing",)
        name_of = {id_: name for name, id_ in self.venue.pools.items()}
        short = [(name_of[pool], *counts) for pool, *counts in map(astuple, explanation.shortages)]
        return (explanation.obstacle, sorted(short))

    def waitlist(self) -> Waitlist | None:
        """The waitlist as the survey sees it."""
        key = (self.venue.organization_id, self.venue.session_id)
        survey = self._looking.survey(Needs(waitlists=frozenset({key})))
        return survey.waitlists.get(key)

    def orders(self) -> dict[OrderId, "OrderShown"]:
        return {
            order_id: self._order(order)
            for order_id, order in self.world.orders(self.venue).items()
        }

    def _order(self, order: Order) -> "OrderShown":
        tickets = [
            TicketShown(
                ticket.id,
                ticket.hold_id,
                ticket.code,
                ticket.unit_price_minor,
                None if ticket.seat is None else self._names[str(ticket.seat.id)],
                ticket.attendee,
                None if ticket.voided is None else ticket.voided.version,
                ticket.refund_reference,
            )
            for ticket in order.tickets
        ]
        state = (order.checkout_id, order.status.value, order.version)
        return OrderShown(order.hold_ids, order.holder, order.total, *state, tickets)

    def _translated(self, value: Any, key: str = "") -> Any:
        """Seats by name, and seconds rounded: the sides are not asked at the same instant."""
        if isinstance(value, dict):
            return {
                name: self._translated(each, name)
                for name, each in value.items()
                if name != "expires_at"
            }
        if isinstance(value, list):
            return [self._translated(each) for each in value]
        if key in {"expires_in", "retry_after_seconds"} and value is not None:
            return value // STEP_SECONDS
        return self._names.get(value, value) if isinstance(value, str) else value


def _life(hold: Hold) -> tuple[Any, ...]:
    seen = seen_hold(hold)
    return (hold.id, *seen._replace(seat_ids=()))
