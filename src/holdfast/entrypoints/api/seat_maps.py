"""Maps written down once for all who ask at the same time: on sale day everybody opens the hall."""

from dataclasses import dataclass
from hashlib import blake2b

import msgspec

from holdfast.domain.ids import SessionKey
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.seat_answers import map_answer
from holdfast.ports.seats import SeatReader
from holdfast.services import reading

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class WrittenMap:
    body: bytes
    tag: bytes


@dataclass(frozen=True, slots=True)
class MapWriter:
    seats: SeatReader

    def write(self, key: SessionKey) -> WrittenMap | Refusal:
        """It blocks, and a large map takes a while to write down."""
        found = reading.session_map(self.seats, *key)
        if isinstance(found, Refusal):
            return found
        body = _encode(map_answer(found))
        return WrittenMap(body, tag_of(body))


def tag_of(body: bytes) -> bytes:
    return b'"%s"' % blake2b(body, digest_size=16).hexdigest().encode()
