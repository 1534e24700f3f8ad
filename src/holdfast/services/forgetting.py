"""Forgets a person in one organization. Every call blocks."""

from collections.abc import Callable
from uuid import uuid4

import structlog

from holdfast.domain import refusals
from holdfast.domain.forgetting import Forgotten, pseudonym
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.values import EmailAddress
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.privacy.forgetting import ForgetOutcome, ForgettingStore
from holdfast.ports.store import Contended, StoreError
from holdfast.services.failures import refusal_for

# Slices per request. Each takes a few milliseconds, and other work runs between two of them.
SLICES_MAX = 20
ATTEMPTS_MAX = 3

_log = structlog.get_logger("holdfast.forgetting")


@immutable
class Eraser:
    """Forgets people in one organization, on behalf of one caller."""

    store: ForgettingStore
    organization_id: OrganizationId
    origin: Origin
    idempotency: IdempotencyKey | None = None
    render: Callable[[ForgetOutcome], bytes] = lambda _: b""

    def forget(self, email: EmailAddress) -> StoredAnswer[ForgetOutcome]:
        """Erase the person's data. Refused while they have open holds, which could not be paid for
        or promoted without a holder. Nothing is erased for a key that already has an answer.
        Requests with the same key at the same time may both erase; each slice has its audit
        entry."""
        try:
            known = self.store.recorded(self.organization_id, self.idempotency)
            if known is not None:
                return known
            self.store.refuse_missing_secrets(self.organization_id)
            open_holds = self.store.open_holds(self.organization_id, email)
            if open_holds:
                return StoredAnswer(refusals.holds_still_open(list(map(str, open_holds))))
            forgotten = self._forget(email)
            return self.store.record(
                self.organization_id, forgotten, self.origin, self.idempotency, self.render
            )
        except StoreError as error:
            _log.error("forget.failed", problem=error.problem)
            return StoredAnswer(refusal_for(error))

    def _forget(self, email: EmailAddress) -> Forgotten:
        name, forgotten = pseudonym(uuid4()), Forgotten()
        for _ in range(SLICES_MAX):
            some = self._slice(email, name)
            forgotten = forgotten.plus(some)
            if some.is_empty:
                break
        return forgotten

    def _slice(self, email: EmailAddress, name: str) -> Forgotten:
        """Erase one slice, and retry if a group has locked one of its rows."""
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                return self.store.forget_some(self.organization_id, email, name, self.origin)
            except Contended:
                if attempt == ATTEMPTS_MAX:
                    raise
        raise AssertionError
