"""Keeps the queues of waitlists in memory, as the last group left them. Every group compares
versions under the lock of the waitlist, so decisions never use stale queues.

A version identifies one state of the queues and is never reused, not even by another server after a
failover. So a state can be cached at any time, from any lane, and before its commit is confirmed: a
group finds the version in the database only if it was committed.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from holdfast.adapters.postgres.connections.pipeline import Row, Statements
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.waitlist import statements as sql
from holdfast.adapters.postgres.waitlist.rows import Parties, QueueQueries
from holdfast.domain.ids import SessionKey
from holdfast.domain.waitlist.queues import LOOK_AHEAD, QueueKey, Waitlist
from holdfast.ports.privacy.addresses import CLEAR_ADDRESSES, Addresses

# The queues of all cached sessions and their parties, at least LOOK_AHEAD for each session: about
# 20 MB.
KEPT_MAX = 10_000


class KeptWaitlist(NamedTuple):
    """A state of a session's queues. Groups change copies of it. `position` is where the last facts
    of its parties are in the fact log; `lacking` are the queues with too few parties in memory."""

    version: UUID | None  # None if the last change set no version
    waitlist: Waitlist
    position: int
    lacking: frozenset[UUID] = frozenset()
    # Another process changed it last, and probably will again.
    is_contested: bool = False

    def after(self, version: UUID, changed: Waitlist, position: int) -> "KeptWaitlist":
        """The state after a group has changed this one."""
        _trim(changed, self.waitlist)
        has_fewer = share_of(changed) > share_of(self.waitlist)  # each queue may show more parties
        touched = changed.queues.keys() if has_fewer else self.lacking | changed.changed
        return KeptWaitlist(
            version, changed, position, _lacking(changed, touched), self.is_contested
        )


def share_of(waitlist: Waitlist) -> int:
    """How many parties of each queue are read."""
    return max(1, LOOK_AHEAD // max(1, len(waitlist.queues)))


def _trim(waitlist: Waitlist, before: Waitlist) -> None:
    """In changed queues, drop the parties beyond those that a query would read, and beyond those
    that were read because none of the first could be served."""
    queues, share = waitlist.queues, share_of(waitlist)
    for queue_id in waitlist.changed:
        queue, old = queues.get(queue_id), before.queues.get(queue_id)
        kept = max(share, len(old.first) if old is not None else 0)
        if queue is not None and len(queue.first) > kept:
            queues[queue_id] = replace(queue, first=queue.first[:kept])


def _lacking(waitlist: Waitlist, among: Iterable[UUID]) -> frozenset[UUID]:
    queues, share = waitlist.queues, share_of(waitlist)
    return frozenset(
        id_
        for id_ in among
        if id_ in queues and len(queues[id_].first) < min(share, queues[id_].waiting)
    )


class WaitlistCache:
    """Shared by the lanes of a process. Evicts the session whose queues changed longest ago."""

    def __init__(self, addresses: Addresses = CLEAR_ADDRESSES) -> None:
        self.addresses = addresses
        self._lock = threading.Lock()
        self._kept: OrderedDict[SessionKey, KeptWaitlist] = OrderedDict()
        self._size = 0

    def get(self, key: SessionKey) -> KeptWaitlist | None:
        return self._kept.get(key)

    def keep(self, key: SessionKey, kept: KeptWaitlist) -> None:
        if kept.version is None:
            return
        with self._lock:
            self._forget(key)
            self._kept[key] = kept
            self._size += _size(kept)
            while self._size > KEPT_MAX:
                self._forget(next(iter(self._kept)))

    def _forget(self, key: SessionKey) -> None:
        forgotten = self._kept.pop(key, None)
        if forgotten is not None:
            self._size -= _size(forgotten)


def _size(kept: KeptWaitlist) -> int:
    queues = kept.waitlist.queues
    return max(LOOK_AHEAD, sum(len(queue.first) for queue in queues.values())) + len(queues)


def survey_waitlists(
    connection: Statements, cache: WaitlistCache, keys: Iterable[SessionKey]
) -> dict[SessionKey, Waitlist]:
    """The queues as they are now, read without locks. Callers must not change them."""
    known = {
        key: kept
        for key in keys
        if (kept := cache.get(key)) is not None and not (kept.is_contested or kept.lacking)
    }
    versions = connection.execute(sql.VERSIONS, rows.columns(known)) if known else ()
    found = {
        (organization_id, session_id): known[organization_id, session_id].waitlist
        for organization_id, session_id, version in versions
        if version == known[organization_id, session_id].version
    }
    others = sorted(key for key in keys if key not in found)
    if not others:
        return found
    return found | QueueQueries(connection, others, cache.addresses).waitlists()


class QueueReading:
    """Reads the queues of the sessions whose waitlists a group locks. Queues that are probably not
    in memory are queried together with the locks; those that turn out to be stale, afterwards."""

    def __init__(
        self,
        connection: Statements,
        cache: WaitlistCache,
        keys: Sequence[SessionKey],
        parties: Mapping[QueueKey, int],
    ) -> None:
        self._connection, self._cache = connection, cache
        self._known = {key: kept for key in keys if (kept := cache.get(key)) is not None}
        self._trusted = {key: kept for key, kept in self._known.items() if not kept.is_contested}
        self._wanted = {
            (key, queue_id): share_of(kept.waitlist)
            for key, kept in self._trusted.items()
            for queue_id in kept.lacking
        }
        for (key, queue_id), count in parties.items():
            if key in keys and not self._has(key, queue_id, count):
                self._wanted[key, queue_id] = count
        self._parties = self._send_parties() if self._wanted else ()
        self._queries = self._send([key for key in keys if key not in self._trusted])

    def _has(self, key: SessionKey, queue_id: UUID, count: int) -> bool:
        kept = self._trusted.get(key)
        queue = None if kept is None else kept.waitlist.queues.get(queue_id)
        return queue is not None and (queue.is_all_seen or len(queue.first) >= count)

    def _send_parties(self) -> Iterable[Row]:
        wanted = [(*key, queue_id, count) for (key, queue_id), count in self._wanted.items()]
        return self._connection.execute(sql.PARTIES_OF_QUEUES, rows.columns(wanted))

    def _send(self, keys: Sequence[SessionKey]) -> QueueQueries | None:
        return QueueQueries(self._connection, keys, self._cache.addresses) if keys else None

    def states(self, versions: Mapping[SessionKey, UUID | None]) -> dict[SessionKey, KeptWaitlist]:
        """The queues of the locked sessions, given the versions found under their locks."""
        current = {
            key: kept
            for key, kept in self._trusted.items()
            if key in versions and versions[key] == kept.version
        }
        stale = [key for key in versions if key in self._trusted and key not in current]
        changed: dict[SessionKey, KeptWaitlist] = {}
        for queries in (self._queries, self._send(stale)):
            found = queries.positioned() if queries is not None else {}
            changed |= {
                key: KeptWaitlist(
                    versions[key],
                    *found[key],
                    is_contested=key in self._known and versions[key] != self._known[key].version,
                )
                for key in found.keys() & versions.keys()
            }
        if self._wanted:
            changed |= self._refilled(current | changed)
        for key, kept in changed.items():
            self._cache.keep(key, kept)
        return current | changed

    def _refilled(self, read: Mapping[SessionKey, KeptWaitlist]) -> dict[SessionKey, KeptWaitlist]:
        """With the parties that were wanted besides. Some queues may have ended since."""
        parties = Parties(self._parties, self._cache.addresses)
        refilled = {}
        for key in {key for key, _ in self._wanted} & read.keys():
            kept = read[key]
            waitlist = kept.waitlist.copy(is_settled=True)
            for queue in kept.waitlist.queues.values():
                found = parties.of(key, queue.id)
                if len(found) > len(queue.first):
                    waitlist.queues[queue.id] = replace(queue, first=found)
            refilled[key] = kept._replace(
                waitlist=waitlist,
                position=max(kept.position, parties.positions.get(key, 0)),
                lacking=frozenset(),
            )
        return refilled
