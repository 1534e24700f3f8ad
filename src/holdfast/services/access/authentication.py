"""Authentication by secret key, stored as a hash."""

import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from threading import Lock
from typing import Literal, TypeVar

from holdfast.ports.access import ALL_SCOPES, KeyDirectory, Principal
from holdfast.ports.catalog import NewKey

Mode = Literal["test", "live"]
T = TypeVar("T")

# A revoked key works at most this much longer.
REMEMBERED_SECONDS = 10.0
REMEMBERED_MAX = 4096
# Repeating a wrong key costs one look-up in this time; a new key that was tried too early works at
# most this much later.
UNKNOWN_SECONDS = 2.0
UNKNOWN_MAX = 1024
_PREFIX_LENGTH = 12

_SECRET = re.compile(rb"hk_(?:test|live)_[A-Za-z0-9_-]{16,128}", re.ASCII)


def new_secret_key(mode: Mode, name: str, scopes: Sequence[str] = ALL_SCOPES) -> tuple[str, NewKey]:
    """The secret, to be shown once, and the key to store. 256 random bits cannot be guessed, so
    they need neither salt nor a slow hash."""
    secret = f"hk_{mode}_{secrets.token_urlsafe(32)}"
    return secret, stored_key(secret, name, scopes)


def stored_key(secret: str, name: str, scopes: Sequence[str] = ALL_SCOPES) -> NewKey:
    hashed = secret_hash(secret.encode())
    assert hashed is not None, "not a secret key of ours"
    return NewKey(name, secret[:_PREFIX_LENGTH], hashed, tuple(str(scope) for scope in scopes))


def secret_hash(secret: bytes) -> bytes | None:
    """None when this cannot be one of our keys, which saves the look-up."""
    return sha256(secret).digest() if _SECRET.fullmatch(secret) else None


class Authenticator:
    """Caches valid keys for a short time and unknown ones for a shorter time. Both caches are
    bounded, and separate: unknown keys never evict valid ones."""

    def __init__(self, keys: KeyDirectory, clock: Callable[[], float] = time.monotonic) -> None:
        self._keys = keys
        self._clock = clock
        self._lock = Lock()
        self._remembered: OrderedDict[bytes, tuple[float, Principal]] = OrderedDict()
        self._unknown: OrderedDict[bytes, float] = OrderedDict()

    def remembered(self, hashed: bytes) -> Principal | None:
        """Never blocks."""
        with self._lock:
            entry = self._remembered.get(hashed)
            if entry is None:
                return None
            forget_at, principal = entry
            self._remembered.move_to_end(hashed)
            return principal if self._clock() < forget_at else None

    def was_known(self, hashed: bytes) -> bool:
        """Whether this key was valid at its last look-up, however long ago."""
        with self._lock:
            return hashed in self._remembered

    def is_unknown(self, hashed: bytes) -> bool:
        """Whether this key did not exist a moment ago. Never blocks."""
        with self._lock:
            return self._clock() < self._unknown.get(hashed, 0.0)

    def find(self, hashes: Sequence[bytes]) -> Mapping[bytes, Principal]:
        """Look the keys up in the directory. Blocks, and may raise a StoreError."""
        # The time counts from before the look-up: a key may be revoked right after it.
        asked_at = self._clock()
        found = self._keys.find(hashes)
        with self._lock:
            for hashed in hashes:
                principal = found.get(hashed)
                if principal is None:
                    self._remembered.pop(hashed, None)
                    _keep(self._unknown, hashed, asked_at + UNKNOWN_SECONDS, UNKNOWN_MAX)
                else:
                    entry = (asked_at + REMEMBERED_SECONDS, principal)
                    _keep(self._remembered, hashed, entry, REMEMBERED_MAX)
        return found


def _keep(memory: OrderedDict[bytes, T], hashed: bytes, entry: T, size_max: int) -> None:
    """Add an entry, and evict the least recently used one if the cache is full."""
    memory[hashed] = entry
    memory.move_to_end(hashed)
    if len(memory) > size_max:
        memory.popitem(last=False)
