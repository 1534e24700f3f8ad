"""What can be asked of the engine. A command is a small immutable value."""

from dataclasses import dataclass, field
from uuid import UUID

from holdfast.domain.hold import NO_REMARKS, Remarks
from holdfast.domain.ids import (
    BlockId,
    HoldId,
    HoldKey,
    OrganizationId,
    SeatId,
    SessionId,
    SessionKey,
    TicketTypeId,
)
from holdfast.domain.seat import BLOCKED_REASON_LENGTH_MAX
from holdfast.domain.values import Holder, InvalidValue, Quantity

LINES_MAX = 50
SEATS_PER_HOLD_MAX = 250
SEATS_PER_BLOCKING_MAX = 1000
EXPIRE_BATCH_MAX = 128


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asked, and from where. It ends up in the audit log."""

    actor: str
    request_id: str
    ip: str | None = None
    user_agent: str | None = None


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """One effect per key. `digest` covers the principal and the key as sent; `fingerprint` the
    request, so that a key that comes back with another request is noticed."""

    organization_id: OrganizationId
    digest: UUID
    fingerprint: bytes


@dataclass(frozen=True, slots=True)
class Ask:
    """So many of a ticket type, at the catalogue's price unless the platform names one. Of a seated
    type: the best that are available, in one block if it is named, so many of them accessible."""

    ticket_type_id: TicketTypeId
    quantity: Quantity
    unit_price_minor: int | None = None
    block_id: BlockId | None = None
    accessible: int = 0


@dataclass(frozen=True, slots=True)
class SeatAsk:
    """These very seats, as tickets of this type, or of the first that their block sells."""

    seat_ids: tuple[SeatId, ...]
    ticket_type_id: TicketTypeId | None = None
    unit_price_minor: int | None = None


@dataclass(frozen=True, slots=True)
class PlaceHold:
    """Hold all of these, or nothing."""

    organization_id: OrganizationId
    session_id: SessionId
    hold_id: HoldId
    holder: Holder
    asks: tuple[Ask | SeatAsk, ...]
    origin: Origin
    idempotency: IdempotencyKey | None = None
    is_id_from_client: bool = False
    remarks: Remarks = NO_REMARKS
    wants_alternative: bool = False  # where seats are taken: offer the next best ones
    # One seat, whatever else its holder has: a larger hold that has it is the answer too.
    is_reservation: bool = False

    named_seats: tuple[SeatId, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.asks) <= LINES_MAX:
            raise InvalidValue("invalid_lines", f"A hold has from 1 to {LINES_MAX} lines")
        named = tuple(
            seat_id for ask in self.asks if isinstance(ask, SeatAsk) for seat_id in ask.seat_ids
        )
        object.__setattr__(self, "named_seats", named)
        if len(set(named)) != len(named):
            raise InvalidValue("duplicate_seat", "A seat is named twice")
        if len(named) > SEATS_PER_HOLD_MAX:
            raise InvalidValue("invalid_lines", f"A hold has at most {SEATS_PER_HOLD_MAX} seats")

    @property
    def hold_key(self) -> HoldKey:
        return (self.organization_id, self.hold_id)

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)


@dataclass(frozen=True, slots=True)
class ReleaseHold:
    """Let go of a live hold."""

    organization_id: OrganizationId
    hold_id: HoldId
    origin: Origin
    idempotency: IdempotencyKey | None = None

    @property
    def hold_key(self) -> HoldKey:
        return (self.organization_id, self.hold_id)


@dataclass(frozen=True, slots=True)
class ExpireHolds:
    """Write down that these holds have lapsed; those that have not are left alone."""

    organization_id: OrganizationId
    hold_ids: tuple[HoldId, ...]
    origin: Origin

    def __post_init__(self) -> None:
        assert 1 <= len(self.hold_ids) <= EXPIRE_BATCH_MAX

    @property
    def idempotency(self) -> IdempotencyKey | None:
        """Expiring twice is harmless by nature."""
        return None

    @property
    def hold_keys(self) -> tuple[HoldKey, ...]:
        return tuple((self.organization_id, hold_id) for hold_id in self.hold_ids)


@dataclass(frozen=True, slots=True)
class BlockSeats:
    """Take seats out of the sale, or, with `is_lifted`, put them back. A held seat ends its hold; a
    seat that is blocked already (or not blocked) is left as it is."""

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
                "invalid_seats", f"Name from 1 to {SEATS_PER_BLOCKING_MAX} seats in one call"
            )
        if len(set(self.seat_ids)) != len(self.seat_ids):
            raise InvalidValue("duplicate_seat", "A seat is named twice")
        if not 1 <= len(self.reason) <= BLOCKED_REASON_LENGTH_MAX:
            raise InvalidValue(
                "invalid_reason", f"A reason has 1 to {BLOCKED_REASON_LENGTH_MAX} characters"
            )

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)


Command = PlaceHold | ReleaseHold | ExpireHolds | BlockSeats
