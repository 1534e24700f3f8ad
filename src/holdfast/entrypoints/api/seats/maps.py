"""Serialized seat maps, shared by all callers: when a sale starts, everybody opens the map."""

import threading
from collections import OrderedDict
from dataclasses import field
from hashlib import blake2b

from holdfast.domain.ids import SessionKey
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.http.encodings import CodedSession, Coding, compressed
from holdfast.entrypoints.api.http.exchange import API_HEADERS, Reply
from holdfast.entrypoints.api.http.replies import written
from holdfast.entrypoints.api.seats.answers import map_answer
from holdfast.ports.seats import MapState, SeatReader
from holdfast.services import reads

# A map of 50,000 seats takes 1.5 MB, and up to a third of that in each coding that callers use.
MAPS_KEPT_MAX = 16
# One organization with many small halls must not evict the large ones of others.
MAPS_OF_ORGANIZATION_MAX = 4

# Callers may cache a map, but must revalidate it.
_ASKED_AGAIN = ((b"cache-control", b"private, no-cache"), *API_HEADERS[1:])


@immutable
class WrittenMap:
    """A serialized map. It is valid until its version changes or the first of its holds lapses. Its
    replies, one for each coding that was asked for, are kept with it."""

    plain: Reply
    version: int
    blocks_digest: int
    next_lapse: float
    _replies: dict[Coding, Reply] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reply(self, coding: Coding) -> Reply:
        """Compresses the map the first time, which blocks for a while."""
        with self._lock:
            if coding not in self._replies:
                self._replies[coding] = tagged(compressed(self.plain, coding))
            return self._replies[coding]

    def is_true(self, now: MapState) -> bool:
        is_same = (self.version, self.blocks_digest) == (now.version, now.blocks_digest)
        return is_same and now.at < self.next_lapse


class MapWriter:
    """Serializes a map if it has changed. Thread-safe."""

    def __init__(self, seats: SeatReader) -> None:
        self._seats = seats
        self._lock = threading.Lock()
        self._kept: OrderedDict[SessionKey, WrittenMap] = OrderedDict()

    def write(self, key: CodedSession) -> Reply | Refusal:
        """Blocks; a large map takes a while."""
        organization_id, session_id, coding = key
        current = self._current((organization_id, session_id))
        return current if isinstance(current, Refusal) else current.reply(coding)

    def _current(self, key: SessionKey) -> WrittenMap | Refusal:
        state = reads.map_state(self._seats, *key)
        if isinstance(state, Refusal):
            return state
        known = self._known(key)
        if known is not None and known.is_true(state):
            return known
        fresh = self._written(key)
        if isinstance(fresh, WrittenMap):
            self._keep(key, fresh)
        return fresh

    def _written(self, key: SessionKey) -> WrittenMap | Refusal:
        found = reads.session_map(self._seats, *key)
        if isinstance(found, Refusal):
            return found
        plain = Reply(200, written(map_answer(found)))
        return WrittenMap(plain, found.version, found.blocks_digest, found.next_lapse)

    def _known(self, key: SessionKey) -> WrittenMap | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: SessionKey, fresh: WrittenMap) -> None:
        with self._lock:
            self._kept[key] = fresh
            self._kept.move_to_end(key)
            own = [each for each in self._kept if each[0] == key[0]]
            if len(own) > MAPS_OF_ORGANIZATION_MAX:
                del self._kept[own[0]]
            elif len(self._kept) > MAPS_KEPT_MAX:
                self._kept.popitem(last=False)


def tagged(reply: Reply) -> Reply:
    """With an ETag. It is computed from the bytes that are sent, so every coding has its own."""
    tag = b'"%s"' % blake2b(reply.body, digest_size=16).hexdigest().encode()
    headers = (*reply.headers, (b"etag", tag))
    return reply._replace(headers=headers, standing_headers=_ASKED_AGAIN)
