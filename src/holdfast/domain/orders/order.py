"""Orders and their tickets, one per unit.

    confirmed -> partly_cancelled -> cancelled

An order is confirmed when it is made. Cancelling tickets makes them void, for good.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from uuid import UUID, uuid5

from holdfast.domain import refusals
from holdfast.domain.holds.hold import Hold, Line, LineSeat
from holdfast.domain.ids import (
    CheckoutId,
    EventId,
    HoldId,
    OrderId,
    OrderKey,
    OrganizationId,
    PaymentKey,
    SessionId,
    TicketId,
    TicketTypeId,
)
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.slices import giving_way
from holdfast.domain.values import (
    NO_METADATA,
    QUANTITY_MAX,
    EmailAddress,
    Holder,
    InvalidValue,
    Metadata,
    Money,
)

ATTENDEE_NAME_LENGTH_MAX = 200
PAYMENT_REFERENCE_LENGTH_MAX = 255
REFUND_REFERENCE_LENGTH_MAX = 255
# As many as one line of a hold can have.
TICKETS_PER_ORDER_MAX = QUANTITY_MAX
SEATS_PER_ORDER_MAX = 2_000
HOLDS_PER_CHECKOUT_MAX = 50
SEED_BYTES = 32

# Crockford's alphabet, without letters that look alike.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# A code has 26 letters, 130 bits. Writing them in pairs takes half the time.
_PAIRS = [one + other for one in _ALPHABET for other in _ALPHABET]
_PAIR_BITS = 10
_PAIR_SHIFTS = range(0, 13 * _PAIR_BITS, _PAIR_BITS)

# The version and variant bits of a UUID (RFC 9562), and their values for version 8.
_UUID_MARKS = 0xF000 << 64 | 0xC000 << 48
_UUID_8 = 0x8000 << 64 | 0x8000 << 48
_TIME_BITS = 0xFFFF_FFFF_FFFF << 80

_CHECKOUT = UUID("1a55ab1e-0b1c-5f3e-8d3b-6a2f0d1c9e44")
_REVIVAL = UUID("6f2a1c52-6f0b-5a0e-9f53-1f8b6f6f3f10")


@immutable
class Attendee:
    """The person who uses a ticket."""

    name: str | None = None
    email: EmailAddress | None = None

    def __post_init__(self) -> None:
        if self.name is None and self.email is None:
            raise InvalidValue("attendee_required", "Give the attendee's name or email")
        if self.name is not None and not (
            1 <= len(self.name) <= ATTENDEE_NAME_LENGTH_MAX and self.name.isprintable()
        ):
            raise InvalidValue(
                "invalid_name",
                f"name must have 1 to {ATTENDEE_NAME_LENGTH_MAX} printable characters",
            )


@immutable
class Purchase:
    """The order to make from paid holds. Ticket codes are derived from `seed`, which is random,
    secret and never stored: decisions stay deterministic and codes cannot be guessed."""

    order_id: OrderId
    seed: bytes
    payment_reference: str | None = None
    attendees: tuple[Attendee | None, ...] = ()  # in the order of the tickets
    metadata: Metadata = NO_METADATA

    def __post_init__(self) -> None:
        assert len(self.seed) == SEED_BYTES


class OrderStatus(StrEnum):
    CONFIRMED = "confirmed"
    PARTLY_CANCELLED = "partly_cancelled"
    CANCELLED = "cancelled"


@immutable
class Voiding:
    """When and why tickets became void, and the order's version from then on. Holdfast moves no
    money: the reference is that of the platform's refund."""

    at: datetime
    version: int
    reason: str | None = None
    refund_reference: str | None = None


@immutable
class Ticket:
    id: TicketId
    code: str
    hold_id: HoldId
    session_id: SessionId
    ticket_type_id: TicketTypeId
    unit_price_minor: int
    seat: LineSeat | None = None
    attendee: Attendee | None = None
    voided: Voiding | None = None

    @property
    def is_void(self) -> bool:
        return self.voided is not None

    @property
    def refund_reference(self) -> str | None:
        return None if self.voided is None else self.voided.refund_reference

    def refunded(self, reference: str) -> "Ticket":
        assert self.voided is not None
        return replace(self, voided=replace(self.voided, refund_reference=reference))


@immutable
class Order:
    organization_id: OrganizationId
    id: OrderId
    holder: Holder
    hold_ids: tuple[HoldId, ...]
    total: Money
    created_at: datetime
    tickets: tuple[Ticket, ...]
    payment_reference: str | None = None
    checkout_id: CheckoutId | None = None
    metadata: Metadata = NO_METADATA
    version: int = 1  # rises with every cancellation and recorded refund
    references: tuple[str, ...] = ()  # of its holds
    event_ids: tuple[EventId, ...] = ()

    @property
    def key(self) -> OrderKey:
        return (self.organization_id, self.id)

    @property
    def session_ids(self) -> tuple[SessionId, ...]:
        return tuple(dict.fromkeys(ticket.session_id for ticket in self.tickets))

    @property
    def status(self) -> OrderStatus:
        void = sum(ticket.is_void for ticket in self.tickets)
        if not void:
            return OrderStatus.CONFIRMED
        is_over = void == len(self.tickets)
        return OrderStatus.CANCELLED if is_over else OrderStatus.PARTLY_CANCELLED

    @property
    def cancelled_at(self) -> datetime | None:
        """When its last valid ticket became void."""
        if self.status is not OrderStatus.CANCELLED:
            return None
        return max(ticket.voided.at for ticket in self.tickets if ticket.voided is not None)

    def cancelled(self, ticket_ids: Collection[TicketId], voiding: Voiding) -> "Order":
        """With these tickets void."""
        assert voiding.version == self.version + 1
        tickets = list(self.tickets)
        void = [number for number, ticket in enumerate(tickets) if ticket.id in ticket_ids]
        for number in giving_way(void):
            tickets[number] = replace(tickets[number], voided=voiding)
        return replace(self, version=voiding.version, tickets=tuple(tickets))

    def refunded(self, ticket_ids: Collection[TicketId], reference: str) -> "Order":
        """With the reference at these void tickets."""
        return replace(
            self,
            version=self.version + 1,
            tickets=tuple(
                ticket.refunded(reference) if ticket.id in ticket_ids else ticket
                for ticket in giving_way(self.tickets)
            ),
        )

    @property
    def used_payment(self) -> PaymentKey | None:
        """The payment this order used up; None if nothing was due."""
        if self.payment_reference is None or not self.total.minor:
            return None
        return (self.organization_id, self.payment_reference)


@immutable
class Checkout:
    """Holds that are paid for together. It never changes; its holds show whether it is complete."""

    organization_id: OrganizationId
    id: CheckoutId
    hold_ids: tuple[HoldId, ...]
    created_at: datetime


def make_order(
    holds: Sequence[Hold],
    purchase: Purchase,
    now: datetime,
    checkout_id: CheckoutId | None,
    event_ids: tuple[EventId, ...] = (),
) -> Order:
    """Make an order of holds that share a holder and a currency. The events are theirs."""
    first = holds[0]
    return Order(
        organization_id=first.organization_id,
        id=purchase.order_id,
        holder=first.holder,
        hold_ids=tuple(hold.id for hold in holds),
        total=Money(sum(hold.total.minor for hold in holds), first.currency),
        created_at=now,
        tickets=tuple(_tickets(holds, purchase)),
        payment_reference=purchase.payment_reference,
        checkout_id=checkout_id,
        metadata=purchase.metadata,
        references=tuple(hold.reference for hold in holds),
        event_ids=event_ids,
    )


def units_of_holds(holds: Iterable[Hold]) -> Iterator[tuple[Hold, Line]]:
    """Each unit of the holds, in the order of the tickets of their order."""
    return ((hold, line) for hold in holds for line in hold.lines for _ in range(line.quantity))


def _tickets(holds: Sequence[Hold], purchase: Purchase) -> Iterator[Ticket]:
    for number, (hold, line) in enumerate(giving_way(units_of_holds(holds))):
        is_named = number < len(purchase.attendees)
        yield Ticket(
            id=_ticket_id(purchase.order_id, number),
            code=ticket_code(purchase.seed, number),
            hold_id=hold.id,
            session_id=hold.session_id,
            ticket_type_id=line.ticket_type_id,
            unit_price_minor=line.unit_price_minor,
            seat=line.seat,
            attendee=purchase.attendees[number] if is_named else None,
        )


def _ticket_id(order_id: OrderId, number: int) -> TicketId:
    """Derived from the order. Starts with its time, like the order's own id, so that thousands of
    tickets are neighbours in the index."""
    digest = int.from_bytes(sha256(order_id.bytes + number.to_bytes(4)).digest()[:16])
    kept = order_id.int & _TIME_BITS | digest & ~_TIME_BITS
    return TicketId(UUID(int=kept & ~_UUID_MARKS | _UUID_8))


def ticket_code(seed: bytes, number: int) -> str:
    bits = int.from_bytes(sha256(seed + number.to_bytes(4)).digest())
    return "".join([_PAIRS[bits >> shift & 0x3FF] for shift in _PAIR_SHIFTS])


def checkout_id_of(hold_ids: Iterable[HoldId]) -> CheckoutId:
    """Derive the id from the holds, so that a second click finds the same checkout."""
    return CheckoutId(uuid5(_CHECKOUT, " ".join(sorted(map(str, hold_ids)))))


def revival_id(hold_id: HoldId) -> HoldId:
    """The id of the hold that replaces an expired one for a late payment. It is derived, so that a
    payment reported twice finds the first replacement. Everybody can derive it: trust only a hold
    that says what it replaces."""
    return HoldId(uuid5(_REVIVAL, str(hold_id)))


def refuse_mixture(holds: Sequence[Hold]) -> Refusal | None:
    """Check that the holds fit into one order: one holder, one currency, not too many tickets."""
    first, *others = holds
    if any(not hold.holder.is_person(first.holder) for hold in others):
        return refusals.different_holders()
    if any(hold.currency != first.currency for hold in others):
        return refusals.different_currencies()
    if sum(hold.quantity for hold in holds) > TICKETS_PER_ORDER_MAX:
        return refusals.too_many_tickets(TICKETS_PER_ORDER_MAX)
    if sum(len(hold.seats) for hold in holds) > SEATS_PER_ORDER_MAX:
        return refusals.too_many_seats_in_order(SEATS_PER_ORDER_MAX)
    return None


def check_hold_ids(hold_ids: tuple[HoldId, ...]) -> None:
    if not 1 <= len(hold_ids) <= HOLDS_PER_CHECKOUT_MAX:
        raise InvalidValue("invalid_holds", f"Name 1 to {HOLDS_PER_CHECKOUT_MAX} holds")
    if len(set(hold_ids)) != len(hold_ids):
        raise InvalidValue("duplicate_hold", "Name each hold only once")
