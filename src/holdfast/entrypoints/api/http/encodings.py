"""Compressed replies: which coding a caller prefers, and replies in that coding.

Only answers without secrets are compressed. If an answer has both a secret and text that an
attacker chooses, its compressed length reveals the secret (BREACH). Seat maps, availability and
occupancy are the same for every caller with the scope, and have neither.
"""

import sys
import zlib
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache, partial
from re import compile as compile_pattern

from holdfast.domain.ids import EventId, OrganizationId, SessionId
from holdfast.entrypoints.api.http.exchange import Call, Reply

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# Smaller answers fit into one packet anyway.
COMPRESSED_BYTES_MIN = 1_000
# A longer header is ignored. Browsers send about 25 bytes.
ACCEPTED_BYTES_MAX = 100
# A map of 40,000 seats: 2 ms to 9% of its size, and 12 ms to 12%. Higher levels take several times
# as long for a few percent, and a map changes with every hold.
ZSTD_LEVEL = 1
GZIP_LEVEL = 4

_GZIP_FORMAT = 16 + zlib.MAX_WBITS
_WEIGHT = compile_pattern(rb"q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)")
_VARY = (b"vary", b"accept-encoding")


class Coding(Enum):
    """The codings, the preferred one first."""

    ZSTD = b"zstd"
    GZIP = b"gzip"
    IDENTITY = b"identity"


# Callers of one organization share an answer in one coding.
CodedSession = tuple[OrganizationId, SessionId, Coding]
CodedEvent = tuple[OrganizationId, EventId, Coding]

COMPRESSORS: Mapping[Coding, Callable[[bytes], bytes]] = {
    Coding.ZSTD: partial(zstd.compress, level=ZSTD_LEVEL),
    Coding.GZIP: partial(zlib.compress, level=GZIP_LEVEL, wbits=_GZIP_FORMAT),
}


def compressed(reply: Reply, coding: Coding) -> Reply:
    """The reply in this coding, unless it is small. Blocks, so call it on a reading thread."""
    headers = (*reply.headers, _VARY)
    if coding is Coding.IDENTITY or len(reply.body) < COMPRESSED_BYTES_MIN:
        return reply._replace(headers=headers)
    body = COMPRESSORS[coding](reply.body)
    return reply._replace(body=body, headers=(*headers, (b"content-encoding", coding.value)))


def coding_for(call: Call) -> Coding:
    accepted = call.headers.get(b"accept-encoding")
    if accepted is None or len(accepted) > ACCEPTED_BYTES_MAX:
        return Coding.IDENTITY
    return preferred_coding(accepted)


@lru_cache(maxsize=64)
def preferred_coding(accepted: bytes) -> Coding:
    """The coding with the highest weight (RFC 9110, 12.5.3). A caller that accepts none of them
    gets the plain answer."""
    weights = dict(map(_weighted, accepted.lower().split(b",")))
    others = weights.get(b"*", 0.0)
    by_coding = {coding: weights.get(coding.value, others) for coding in Coding}
    best = max(by_coding, key=by_coding.__getitem__)
    return best if by_coding[best] > 0 else Coding.IDENTITY


def _weighted(element: bytes) -> tuple[bytes, float]:
    """A coding and its weight. A malformed element is not accepted."""
    name, _, parameter = (part.strip() for part in element.partition(b";"))
    weight = _WEIGHT.fullmatch(parameter or b"q=1")
    # An old name of the same coding.
    name = Coding.GZIP.value if name == b"x-gzip" else name
    return name, float(weight[1]) if weight else 0.0
