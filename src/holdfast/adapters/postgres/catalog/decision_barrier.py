"""Waits for the groups that may still decide on the old terms of an event or an organization.

A group takes shared locks on its sessions before it reads their versions, which a change of the
terms raises. So a group that locks a session after the commit sees the change. Groups that locked
one before are waited for here, as CREATE INDEX CONCURRENTLY waits for older transactions: by
polling, without a lock, for any number of sessions.
"""

import time
from collections.abc import Set

from holdfast.adapters.postgres.catalog import statements as sql
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.group import advisory_name
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.domain.ids import EventId, OrganizationId
from holdfast.ports.store import Contended

# A group takes milliseconds; its statements and idle time are bounded. A caller who gets a 503 and
# retries waits here again.
DECISIONS_SECONDS_MAX = 3.0
_PAUSE_SECONDS = 0.005
# Of the whole barrier: an organization may have a hundred thousand sessions.
SECONDS_MAX = 20.0


def await_decisions(
    database: Database, organization_id: OrganizationId, event_id: EventId | None
) -> None:
    """Call after committing the change of an event, or of the whole organization. Raises Contended
    if a group takes too long."""
    event = {"organization_id": organization_id, "event_id": event_id}
    with database.transaction(organization_id, seconds=SECONDS_MAX) as connection:
        sessions = connection.execute(sql.SESSIONS_OF_EVENT, event)
        names = {
            advisory_name(Resource(ResourceKind.SESSION, organization_id, session_id))
            for (session_id,) in sessions
        }
        give_up_at = time.monotonic() + DECISIONS_SECONDS_MAX
        older = groups_deciding(connection, names)
        while older:
            if time.monotonic() > give_up_at:
                raise Contended("a group has not ended")
            time.sleep(_PAUSE_SECONDS)
            older &= groups_deciding(connection, names)
        # Lock the event first: two changes of it would update its sessions in any order.
        connection.execute(sql.LOCK_EVENTS, event)
        connection.execute(sql.RAISE_VERSIONS_OF_WAITED, event)


def groups_deciding(connection: Connection, names: Set[int]) -> set[str]:
    """The transactions that hold any of these locks."""
    return {group for group, name in connection.execute(sql.GROUPS_DECIDING) if name in names}
