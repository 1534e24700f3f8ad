"""The audit of refused attempts. It is written separately: a refusal changes nothing, so it must
not cost a transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from time import monotonic
from typing import Protocol, Self
from uuid import UUID

from holdfast.domain.access.tokens import HolderToken
from holdfast.domain.group.command import FailedAction
from holdfast.domain.group.origin import Origin
from holdfast.domain.holds.placement import NOTHING_ASKED, Asked
from holdfast.domain.ids import ApiKeyId, HoldId, OrderId, OrganizationId, SeatId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import JsonValue

_NO_DETAILS: Mapping[str, JsonValue] = {}


@immutable
class FailedAttempt:
    """A refused attempt: what was tried, by whom, and why it was refused. Of several seats,
    `seat_id` is the contested one, or else the first. `details` are those of the refusal, and never
    contain what the caller sent. Its time is kept as an age: the store has the clock."""

    action: str
    organization_id: OrganizationId
    code: str
    origin: Origin
    hold_id: HoldId | None = None
    seat_id: SeatId | None = None
    catalog_id: UUID | None = None
    key_id: ApiKeyId | None = None
    asked: Asked = NOTHING_ASKED
    details: Mapping[str, JsonValue] = field(default_factory=lambda: _NO_DETAILS)
    order_id: OrderId | None = None  # recorded under its first hold, like all about an order
    times: int = 1  # equal attempts, of which this is the first
    noted_at: float = field(default_factory=monotonic)

    @classmethod
    def now(
        cls,
        failed: FailedAction,
        organization_id: OrganizationId,
        refusal: Refusal,
        origin: Origin,
    ) -> Self:
        return cls(
            failed.action,
            organization_id,
            refusal.code.value,
            origin,
            failed.hold_id,
            failed.seat_id,
            asked=failed.asked,
            details=refusal.details,
            order_id=failed.order_id,
        )


@immutable
class Stranger:
    """A request without a valid credential. Its key, if any, may have been valid once; its `token`
    was issued to a holder and has ended."""

    secret_hash: bytes | None
    origin: Origin
    details: Mapping[str, JsonValue]
    network: str | None = None  # of its address
    token: HolderToken | None = None

    @property
    def credential(self) -> bytes | None:
        """What tells one stranger from another."""
        return self.secret_hash if self.token is None else self.token.id.bytes


@immutable
class EndedKey:
    """A key that was revoked or has expired."""

    organization_id: OrganizationId
    key_id: ApiKeyId


class AttemptJournal(Protocol):
    def failed(self, attempt: FailedAttempt) -> None:
        """Buffer the attempt until it is written. Quick; never raises."""
        ...

    def unauthorized(self, stranger: Stranger) -> None:
        """The same for a caller whose organization is unknown so far."""
        ...


class AttemptLog(Protocol):
    def record(self, attempts: Sequence[FailedAttempt]) -> None:
        """May raise StoreError."""
        ...

    def ended_keys(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, EndedKey]:
        """The keys among these that exist. May raise StoreError."""
        ...
