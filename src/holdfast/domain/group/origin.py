"""The origin of a command and its idempotency key."""

from uuid import UUID

from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable

REASON_LENGTH_MAX = 500


@immutable
class Origin:
    """Who sent the command, and from where, for the audit log. `acting_user` is the member who is
    signed in, or the person whom the caller names: Holdfast has not checked that."""

    actor: str
    request_id: str
    ip: str | None = None
    user_agent: str | None = None
    acting_user: str | None = None  # the person on whose behalf the actor sent it
    reason: str | None = None  # what that person gave as the reason


@immutable
class IdempotencyKey:
    """One effect per key. `digest` covers the principal and the key as sent; `fingerprint` covers
    the request, to detect a key reused for another one."""

    organization_id: OrganizationId
    digest: UUID
    fingerprint: bytes
    # Set for a command from a message: a receipt is stored instead of an answer.
    receipt: "Receipt | None" = None


@immutable
class Receipt:
    """A message processed by one of our consumers."""

    consumer: str
    event_id: UUID
