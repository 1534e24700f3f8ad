"""Changes the texts of an organization's e-mails. Every call blocks."""

from collections.abc import Callable, Mapping

import structlog

from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.mails.kinds import MAILS, MailKind
from holdfast.domain.mails.templates import MailTemplate
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.mails.templates import ChangeMailText, MailTemplateStore, MailText
from holdfast.ports.store import StoreError
from holdfast.services import reads
from holdfast.services.failures import refusal_for

_log = structlog.get_logger("holdfast.mails")


@immutable
class MailTextEditor:
    """The texts of one organization, on behalf of one caller."""

    store: MailTemplateStore
    organization_id: OrganizationId
    origin: Origin
    idempotency: IdempotencyKey | None = None
    render: Callable[[MailText | Refusal], bytes] = lambda _: b""

    def texts(self) -> Mapping[MailKind, MailText] | Refusal:
        return reads.mail_texts(self.store, self.organization_id)

    def save(
        self, kind: MailKind, template: MailTemplate | None, version: int | None = None
    ) -> bool | Refusal:
        """A valid text, or None to return to the built-in one. False if it is no longer the version
        that the caller saw."""
        change = self._change(kind, template, version)
        try:
            return self.store.save(change, self.origin)
        except StoreError as error:
            return _failed(error)

    def put(
        self, kind: MailKind, template: MailTemplate | None
    ) -> StoredAnswer[MailText] | StoredAnswer[Refusal]:
        """The same, whatever the version, and once for each idempotency key."""
        change = self._change(kind, template, None)
        try:
            return self.store.apply(change, self.origin, self.idempotency, self.render)
        except StoreError as error:
            return StoredAnswer(_failed(error))

    def _change(
        self, kind: MailKind, template: MailTemplate | None, version: int | None
    ) -> ChangeMailText:
        assert template is None or not MAILS[kind].errors(template), "the caller has checked it"
        return ChangeMailText(self.organization_id, kind, template, version)


def _failed(error: StoreError) -> Refusal:
    _log.error("mail_template.change_failed", problem=error.problem)
    return refusal_for(error)
