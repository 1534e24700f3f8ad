"""The texts that organizations write for their e-mails."""

from collections.abc import Callable, Mapping

from holdfast.adapters.postgres.answers import PATIENCE, answered_once
from holdfast.adapters.postgres.audit.entries import write_entry
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.mails.kinds import MailKind
from holdfast.domain.mails.templates import MailTemplate
from holdfast.domain.values import JsonValue
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.mails.templates import ChangeMailText, MailText, StoredTemplate

_FIND = """
SELECT subject, body, version, updated_at FROM mail_template
WHERE organization_id = %s AND kind = %s
"""
_ALL = """
SELECT kind, subject, body, version, updated_at FROM mail_template WHERE organization_id = %s
"""
# Two people may write the first text of a kind, so there may be no row to lock.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_SAVE = """
INSERT INTO mail_template (organization_id, kind, subject, body, version)
VALUES (%s, %s, %s, %s, 1)
ON CONFLICT (organization_id, kind) DO UPDATE SET subject = excluded.subject,
    body = excluded.body, version = mail_template.version + 1,
    updated_at = statement_timestamp()
"""
_DELETE = "DELETE FROM mail_template WHERE organization_id = %s AND kind = %s"


class PostgresMailTemplates:
    """Implements MailTemplateStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def template(self, organization_id: OrganizationId, kind: MailKind) -> MailTemplate | None:
        with self._database.transaction(organization_id) as connection:
            stored = _find(connection, organization_id, kind).stored
        return None if stored is None else stored.template

    def texts(self, organization_id: OrganizationId) -> Mapping[MailKind, MailText]:
        with self._database.transaction(organization_id) as connection:
            rows = connection.execute(_ALL, (organization_id,)).fetchall()
        stored = {
            kind: StoredTemplate(MailTemplate(subject, body), version, updated_at)
            for kind, subject, body, version, updated_at in rows
        }
        return {kind: MailText(kind, stored.get(kind.value)) for kind in MailKind}

    def save(self, change: ChangeMailText, origin: Origin) -> bool:
        with self._database.transaction(change.organization_id) as connection:
            return _change(connection, change, origin) is not None

    def apply(
        self,
        change: ChangeMailText,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[MailText], bytes],
    ) -> StoredAnswer[MailText]:
        def decide() -> MailText:
            changed = _change(connection, change, origin)
            assert changed is not None, "without a version, no text is too old"
            return changed

        with self._database.transaction(change.organization_id) as connection:
            return answered_once(connection, idempotency, render, decide)


def _change(connection: Connection, change: ChangeMailText, origin: Origin) -> MailText | None:
    """None if the text is no longer the one that the caller saw."""
    own, kind, template = change.organization_id, change.kind, change.template
    connection.execute(PATIENCE)
    connection.execute(_LOCK, (f"mail_template {own} {kind.value}",))
    before = _find(connection, own, kind)
    if change.version not in {None, before.version}:
        return None
    known = None if before.stored is None else before.stored.template
    if template == known:
        return before
    if template is None:
        connection.execute(_DELETE, (own, kind.value))
    else:
        connection.execute(_SAVE, (own, kind.value, template.subject, template.body))
    new = {"mail": kind.value, **_values(template)}
    if origin.reason is not None:
        new["reason"] = origin.reason
    action = "mail_template.reset" if template is None else "mail_template.changed"
    old = _values(known) or None
    write_entry(connection, own, action, origin, old=old, new=new, catalog_id=own)
    return _find(connection, own, kind)


def _find(connection: Connection, organization_id: OrganizationId, kind: MailKind) -> MailText:
    row = connection.execute(_FIND, (organization_id, kind.value)).fetchone()
    if row is None:
        return MailText(kind)
    subject, body, version, updated_at = row
    return MailText(kind, StoredTemplate(MailTemplate(subject, body), version, updated_at))


def _values(template: MailTemplate | None) -> dict[str, JsonValue]:
    return {} if template is None else {"subject": template.subject, "body": template.body}
