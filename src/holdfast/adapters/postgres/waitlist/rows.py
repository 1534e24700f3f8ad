"""Reads and writes the rows of waitlist queues."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from holdfast.adapters.postgres.connections.pipeline import Row, Statements
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.holds.rows import hold_from_row
from holdfast.adapters.postgres.waitlist import statements as sql
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldKey, SessionKey
from holdfast.domain.waitlist.queues import LOOK_AHEAD, Waitlist, WaitlistQueue, place_of
from holdfast.ports.privacy.addresses import Addresses

# All are forgotten at this many, to drop sessions that are no longer sold.
BUSY_WAITLISTS_MAX = 10_000


class BusyWaitlists:
    """Sessions whose waitlist was not empty in the last group of this process. Shared by its lanes.
    Only a hint, so concurrent changes do no harm."""

    def __init__(self) -> None:
        self._keys: set[SessionKey] = set()

    def among(self, keys: Iterable[SessionKey]) -> frozenset[SessionKey]:
        busy = self._keys
        return frozenset(key for key in keys if key in busy) if busy else frozenset()

    def saw(self, waitlists: Iterable[Waitlist]) -> None:
        for waitlist in waitlists:
            if not waitlist:
                self._keys.discard(waitlist.session_key)
                continue
            if len(self._keys) >= BUSY_WAITLISTS_MAX:
                self._keys = set()
            self._keys.add(waitlist.session_key)


class QueueQueries:
    """Queries for the queues of some sessions and their first parties."""

    def __init__(
        self, connection: Statements, keys: Sequence[SessionKey], addresses: Addresses
    ) -> None:
        self._keys = keys
        self._addresses = addresses
        columns = rows.columns(keys)
        self._queues = connection.execute(sql.QUEUES, columns)
        self._parties = connection.execute(sql.FIRST_PARTIES, (*columns, LOOK_AHEAD))

    def waitlists(self) -> dict[SessionKey, Waitlist]:
        """One waitlist per session, perhaps empty."""
        return {key: waitlist for key, (waitlist, _) in self.positioned().items()}

    def positioned(self) -> dict[SessionKey, tuple[Waitlist, int]]:
        """The waitlists, with the position in the fact log of the last facts of their parties."""
        parties = Parties(self._parties, self._addresses)
        waitlists = {key: Waitlist(key) for key in self._keys}
        for organization_id, session_id, id_, wants, *counted in self._queues:
            key: SessionKey = (organization_id, session_id)
            waiting, passes, opened_at, served = counted
            waitlists[key].queues[id_] = WaitlistQueue(
                id_, frozenset(wants), waiting, passes, opened_at, served, parties.of(key, id_)
            )
        return {key: (each, parties.positions.get(key, 0)) for key, each in waitlists.items()}


class Parties:
    """The parties in these rows by queue, and the position of their last facts by session."""

    def __init__(self, found: Iterable[Row], addresses: Addresses) -> None:
        self.positions: dict[SessionKey, int] = {}
        self._of_queue: dict[tuple[SessionKey, UUID], list[Hold]] = {}
        for xid, *columns in found:
            hold = hold_from_row(addresses, columns)
            assert hold.waiting is not None
            key = hold.session_key
            self.positions[key] = max(self.positions.get(key, 0), xid)
            self._of_queue.setdefault((key, hold.waiting.queue_id), []).append(hold)

    def of(self, key: SessionKey, queue_id: UUID) -> tuple[Hold, ...]:
        return tuple(sorted(self._of_queue.get((key, queue_id), ()), key=place_of))


def write_places(connection: Statements, moved: Mapping[HoldKey, Hold]) -> None:
    left = [hold.key for hold in moved.values() if hold.waiting is None]
    new: list[rows.Row] = []
    changed: list[rows.Row] = []
    for hold in moved.values():
        place = hold.waiting
        if place is not None:
            row = (*hold.key, hold.session_id, place.queue_id, place.since, place.passes_seen)
            (new if hold.version == 1 else changed).append(row)
    if left:
        connection.execute(sql.DELETE_PLACES, rows.wire_columns(left))
    if new:
        connection.execute(sql.INSERT_PLACES, rows.wire_columns(new))
    if changed:
        connection.execute(sql.PUT_PLACES, rows.wire_columns(changed))


def write_queues(
    connection: Statements,
    waitlists: Mapping[SessionKey, Waitlist],
    versions: Mapping[SessionKey, UUID],
) -> None:
    """Write the changed queues of the waitlists that get a new version."""
    ended: list[rows.Row] = []
    put: list[rows.Row] = []
    changed: list[rows.Row] = []
    for key, version in versions.items():
        waitlist = waitlists[key]
        for queue_id in waitlist.changed:
            queue = waitlist.queues.get(queue_id)
            if queue is None:
                ended.append((*key, queue_id))
            else:
                put.append((*key, *_queue_row(queue)))
        changed.append((*key, waitlist.is_settled, version))
    if ended:
        connection.execute(sql.DELETE_QUEUES, rows.columns(ended))
    if put:
        connection.execute(sql.PUT_QUEUES, rows.columns(put))
    connection.execute(sql.UPDATE_WAITLISTS, rows.columns(changed))


def _queue_row(queue: WaitlistQueue) -> rows.Row:
    wants = rows.ids_array(sorted(queue.wants))
    return (queue.id, wants, queue.waiting, queue.passes, queue.served, queue.opened_at)
