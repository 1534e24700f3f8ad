"""What can be asked of the engine. A command is a small immutable value."""

from dataclasses import dataclass
from uuid import UUID

from holdfast.domain.ids import HoldId, HoldKey, OrganizationId, SessionId, SessionKey, TicketTypeId
from holdfast.domain.values import Holder, InvalidValue, Quantity

LINES_MAX = 50
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
    """So many of a ticket type, at the catalogue's price unless the platform names one."""

    ticket_type_id: TicketTypeId
    quantity: Quantity
    unit_price_minor: int | None = None


@dataclass(frozen=True, slots=True)
class PlaceHold:
    """Hold all of these, or nothing."""

    organization_id: OrganizationId
    session_id: SessionId
    hold_id: HoldId
    holder: Holder
    asks: tuple[Ask, ...]
    origin: Origin
    idempotency: IdempotencyKey | None = None
    is_id_from_client: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.asks) <= LINES_MAX:
            raise InvalidValue("invalid_lines", f"A hold has from 1 to {LINES_MAX} lines")

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


Command = PlaceHold | ReleaseHold | ExpireHolds
