"""Serialized seat maps, shared by all callers: when a sale starts, everybody opens the map."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b

import msgspec

from holdfast.domain.ids import SessionKey
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.seats.answers import map_answer
from holdfast.ports.seats import MapState, SeatReader
from holdfast.services import reads

# A map of 50,000 seats takes 1.5 MB.
MAPS_KEPT_MAX = 16
# One organization with many small halls must not evict the large ones of others.
MAPS_OF_ORGANIZATION_MAX = 4

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class WrittenMap:
    """A serialized map. It is valid until its version changes or the first of its holds lapses."""

    body: bytes
    tag: bytes
    version: int
    blocks_digest: int
    next_lapse: float

    def is_true(self, now: MapState) -> bool:
        is_same = (self.version, self.blocks_digest) == (now.version, now.blocks_digest)
        return is_same and now.at < self.next_lapse


class MapWriter:
    """Serializes a map if it has changed. Thread-safe."""

    def __init__(self, seats: SeatReader) -> None:
        self._seats = seats
        self._lock = threading.Lock()
        self._kept: OrderedDict[SessionKey, WrittenMap] = OrderedDict()

    def write(self, key: SessionKey) -> WrittenMap | Refusal:
        """Blocks; a large map takes a while."""
        state = reads.map_state(self._seats, *key)
        if isinstance(state, Refusal):
            return state
        known = self._known(key)
        if known is not None and known.is_true(state):
            return known
        written = self._written(key)
        if isinstance(written, WrittenMap):
            self._keep(key, written)
        return written

    def _written(self, key: SessionKey) -> WrittenMap | Refusal:
        found = reads.session_map(self._seats, *key)
        if isinstance(found, Refusal):
            return found
        body = _encode(map_answer(found))
        return WrittenMap(body, tag_of(body), found.version, found.blocks_digest, found.next_lapse)

    def _known(self, key: SessionKey) -> WrittenMap | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: SessionKey, written: WrittenMap) -> None:
        with self._lock:
            self._kept[key] = written
            self._kept.move_to_end(key)
            own = [each for each in self._kept if each[0] == key[0]]
            if len(own) > MAPS_OF_ORGANIZATION_MAX:
                del self._kept[own[0]]
            elif len(self._kept) > MAPS_KEPT_MAX:
                self._kept.popitem(last=False)


def tag_of(body: bytes) -> bytes:
    return b'"%s"' % blake2b(body, digest_size=16).hexdigest().encode()


def size_of_map(written: WrittenMap | Refusal) -> int:
    return len(written.body) if isinstance(written, WrittenMap) else 0
