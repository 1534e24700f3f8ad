"""The texts that organizations write for their e-mails."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.mails.kinds import MAILS, MailKind
from holdfast.domain.mails.templates import MailTemplate
from holdfast.ports.answers import StoredAnswer


@immutable
class StoredTemplate:
    """The version rises with every change."""

    template: MailTemplate
    version: int
    updated_at: datetime


@immutable
class ChangeMailText:
    """A text of None returns to the built-in one. `version` is that of the text that the caller
    saw, if that matters."""

    organization_id: OrganizationId
    kind: MailKind
    template: MailTemplate | None
    version: int | None = None


@immutable
class MailText:
    """The text in force for one kind of mail: the organization's own, or the built-in one."""

    kind: MailKind
    stored: StoredTemplate | None = None

    @property
    def template(self) -> MailTemplate:
        return MAILS[self.kind].built_in if self.stored is None else self.stored.template

    @property
    def version(self) -> int:
        """0 if nobody has changed it."""
        return 0 if self.stored is None else self.stored.version


class MailTemplateStore(Protocol):
    """Every call blocks, and may raise StoreError."""

    def template(self, organization_id: OrganizationId, kind: MailKind) -> MailTemplate | None:
        """None: the built-in text applies."""
        ...

    def texts(self, organization_id: OrganizationId) -> Mapping[MailKind, MailText]: ...

    def save(self, change: ChangeMailText, origin: Origin) -> bool:
        """Make the change with its audit entry, in one transaction. False if somebody has changed
        the text since the caller saw its version."""
        ...

    def apply(
        self,
        change: ChangeMailText,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[MailText], bytes],
    ) -> StoredAnswer[MailText]:
        """The same, whatever the version, and record its answer in the same transaction."""
        ...
