"""Where a command comes from, and the key that lets it have one effect."""

from dataclasses import dataclass
from uuid import UUID

from holdfast.domain.ids import OrganizationId


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
    # The command comes from a message: what is kept is a receipt of that, not an answer.
    receipt: "Receipt | None" = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Which of our consumers has taken in which message."""

    consumer: str
    event_id: UUID
