"""The settings of organizations."""

from collections.abc import Callable, Sequence
from typing import Any

from holdfast.adapters.postgres.answers import PATIENCE, answered_once
from holdfast.adapters.postgres.audit.entries import write_entry
from holdfast.adapters.postgres.catalog.decision_barrier import SECONDS_MAX, await_decisions
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.statements import policy_of
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.waitlist.statements import UNSETTLE_ORGANIZATION
from holdfast.domain.access.scopes import Mode
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.organizations import (
    SETTINGS,
    ChangeOrganization,
    Organization,
    changed_organization,
)
from holdfast.domain.policy import POLICY_FIELDS, PolicyOverride
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import JsonValue
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.organizations import OrganizationOutcome

_SETTINGS = ", ".join(f"o.{name}" for name in SETTINGS)
_FIND = f"""
SELECT o.id, o.mode, o.created_at, {_SETTINGS}, {policy_of("o")}
FROM organization o WHERE o.id = %s
"""  # noqa: S608
_COLUMNS = (*SETTINGS, *POLICY_FIELDS)
_CHANGE = f"UPDATE organization SET {', '.join(f'{name} = %s' for name in _COLUMNS)} WHERE id = %s"  # noqa: S608
# A change of an event locks its row before it raises the versions of its sessions, in any order.
_LOCK_EVENTS = "SELECT FROM event WHERE organization_id = %s ORDER BY id FOR UPDATE"
_RAISE_VERSIONS = "UPDATE session SET version = version + 1 WHERE organization_id = %s"


class PostgresOrganizationSettings:
    """Implements OrganizationStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def organization(self, organization_id: OrganizationId) -> Organization | None:
        with self._database.transaction(organization_id) as connection:
            return _find(connection, organization_id)

    def apply(
        self,
        change: ChangeOrganization,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[OrganizationOutcome], bytes],
    ) -> StoredAnswer[OrganizationOutcome]:
        with self._database.transaction(change.organization_id, seconds=SECONDS_MAX) as connection:
            answer: StoredAnswer[OrganizationOutcome] = answered_once(
                connection, idempotency, render, lambda: _change(connection, change, origin)
            )
        if change.policy:
            # Even if nothing was left to do: the first attempt may still be waiting here.
            await_decisions(self._database, change.organization_id, None)
        return answer


def _change(
    connection: Connection, change: ChangeOrganization, origin: Origin
) -> OrganizationOutcome:
    own = change.organization_id
    connection.execute(PATIENCE)
    connection.execute(f"SET LOCAL statement_timeout = '{int(SECONDS_MAX * 750)}ms'")
    connection.execute("SELECT FROM organization WHERE id = %s FOR UPDATE", (own,))
    before = _find(connection, own)
    assert before is not None, "the caller belongs to it"
    after = changed_organization(before, change)
    if isinstance(after, Refusal) or after == before:
        return after
    settings = [
        list(value) if isinstance(value, tuple) else value for value in after.settings().values()
    ]
    values = (*settings, *after.policy.in_order())
    connection.execute(_CHANGE, (*values, own))
    if after.policy != before.policy:
        connection.execute(_LOCK_EVENTS, (own,))
        connection.execute(_RAISE_VERSIONS, (own,))
        # The promoter looks at them within a second.
        connection.execute(UNSETTLE_ORGANIZATION, (own, own))
    old, new = _differences(before, after)
    write_entry(connection, own, "organization.changed", origin, old=old, new=new, catalog_id=own)
    return after


def _find(connection: Connection, organization_id: OrganizationId) -> Organization | None:
    row = connection.execute(_FIND, (organization_id,)).fetchone()
    return None if row is None else _from_row(row)


def _from_row(row: Sequence[Any]) -> Organization:
    id_, mode, created_at, *rest = row
    settings: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in zip(SETTINGS, rest, strict=False)
    }
    policy = PolicyOverride(*rest[len(SETTINGS) :])
    return Organization(
        id=OrganizationId(id_), mode=Mode(mode), created_at=created_at, policy=policy, **settings
    )


def _differences(
    before: Organization, after: Organization
) -> tuple[dict[str, JsonValue], dict[str, JsonValue]]:
    """The fields that changed, with their values before and after; without those not set."""
    old, new = _values(before), _values(after)
    return (
        {name: value for name, value in old.items() if new.get(name) != value},
        {name: value for name, value in new.items() if old.get(name) != value},
    )


def _values(organization: Organization) -> dict[str, JsonValue]:
    values = {**organization.settings(), **organization.policy.by_name()}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value is not None
    }
