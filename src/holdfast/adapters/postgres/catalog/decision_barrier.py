"""Waits for the groups that may still decide on an event's old terms.

A group takes shared locks on its sessions before it reads their versions, which a change of the
event raises. So a group that locks a session after the commit sees the change. Groups that locked
one before are waited for here, as CREATE INDEX CONCURRENTLY waits for older transactions: by
polling, without a lock, for any number of sessions.
"""

import time
from collections.abc import Sequence

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


def await_decisions(database: Database, organization_id: OrganizationId, event_id: EventId) -> None:
    """Call after committing the change. Raises Contended if a group takes too long."""
    with database.transaction(organization_id) as connection:
        sessions = connection.execute(sql.SESSIONS_OF_EVENT, (organization_id, event_id))
        names = [
            advisory_name(Resource(ResourceKind.SESSION, organization_id, session_id))
            for (session_id,) in sessions
        ]
        give_up_at = time.monotonic() + DECISIONS_SECONDS_MAX
        older = groups_deciding(connection, names)
        while older:
            if time.monotonic() > give_up_at:
                raise Contended("a group has not ended")
            time.sleep(_PAUSE_SECONDS)
            older &= groups_deciding(connection, names)
        # Lock the event first: two changes of it would update its sessions in any order.
        connection.execute(sql.LOCK_EVENT, (organization_id, event_id))
        connection.execute(sql.RAISE_VERSIONS_OF_WAITED, (organization_id, event_id))


def groups_deciding(connection: Connection, names: Sequence[int]) -> set[str]:
    """The transactions that hold any of these locks."""
    return {group for (group,) in connection.execute(sql.GROUPS_DECIDING, (list(names),))}
