"""Erasing a person's data."""

from collections.abc import Callable, Sequence
from typing import Protocol

from holdfast.domain.forgetting import Forgotten
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import EmailAddress
from holdfast.ports.answers import StoredAnswer

ForgetOutcome = Forgotten | Refusal
OPEN_HOLDS_LISTED_MAX = 20


class ForgettingStore(Protocol):
    """Every call is one short transaction that sees only this organization."""

    def recorded(
        self, organization_id: OrganizationId, idempotency: IdempotencyKey | None
    ) -> StoredAnswer[ForgetOutcome] | None:
        """The answer to an earlier request with this key, or the refusal to use it for another."""
        ...

    def refuse_missing_secrets(self, organization_id: OrganizationId) -> None:
        """Raise SecretMissing if some of what is stored cannot be found with these secrets. Looks
        at a bounded number of rows."""
        ...

    def open_holds(self, organization_id: OrganizationId, email: EmailAddress) -> Sequence[HoldId]:
        """Up to OPEN_HOLDS_LISTED_MAX holds with this address that have not ended."""
        ...

    def forget_some(
        self, organization_id: OrganizationId, email: EmailAddress, pseudonym: str, origin: Origin
    ) -> Forgotten:
        """Erase the address from a bounded number of ended holds, orders, tickets, facts and audit
        entries, and write an audit entry, which does not name the person, if there were any. It is
        complete when nothing was left to erase and the person has no open hold."""
        ...

    def record(
        self,
        organization_id: OrganizationId,
        forgotten: Forgotten,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[ForgetOutcome], bytes],
    ) -> StoredAnswer[ForgetOutcome]:
        """Store the answer if it is complete: a request with the same key continues an incomplete
        one. A request that erased nothing gets its audit entry here."""
        ...
