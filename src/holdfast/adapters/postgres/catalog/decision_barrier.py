"""Waiting for the groups that may still decide on an event's old terms.

A group locks its sessions, shared, before it reads their versions, and a change of the event raises
those. So once the change is committed, a group that locks a session later sees it. The groups that
have locked one already are waited for here, the way CREATE INDEX CONCURRENTLY waits for older
transactions: by looking, without a lock, however many sessions there are.
"""

import time
from collections.abc import Sequence

from holdfast.adapters.postgres.catalog import statements as sql
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.locks import advisory_name
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.domain.ids import EventId, OrganizationId
from holdfast.ports.store import Contended

# A group takes milliseconds. Its statements and its idle time are bounded, so nothing is stuck for
# long; a caller who gets a 503 and retries waits here again.
DECISIONS_SECONDS_MAX = 3.0
_PAUSE_SECONDS = 0.005


def await_decisions(database: Database, organization_id: OrganizationId, event_id: EventId) -> None:
    """After the commit of the change. Raises Contended when a group takes too long."""
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
        # Two changes of one event would lock its sessions in any order.
        connection.execute(sql.LOCK_EVENT, (organization_id, event_id))
        connection.execute(sql.RAISE_VERSIONS_OF_WAITED, (organization_id, event_id))


def groups_deciding(connection: Connection, names: Sequence[int]) -> set[str]:
    """The transactions that hold one of these locks."""
    return {group for (group,) in connection.execute(sql.GROUPS_DECIDING, (list(names),))}
