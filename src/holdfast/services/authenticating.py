"""Who is calling: secret keys, known by their hash."""

import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import sha256
from threading import Lock
from typing import Literal

from holdfast.ports.access import ALL_SCOPES, KeyDirectory, Principal
from holdfast.ports.catalogue import NewKey

Mode = Literal["test", "live"]

# A key that is revoked works at most this much longer.
REMEMBERED_SECONDS = 10.0
REMEMBERED_MAX = 4096
_PREFIX_LENGTH = 12

_SECRET = re.compile(rb"hk_(?:test|live)_[A-Za-z0-9_-]{16,128}", re.ASCII)


def new_secret_key(mode: Mode, name: str, scopes: Sequence[str] = ALL_SCOPES) -> tuple[str, NewKey]:
    """The secret, to be shown once, and what is stored of it. 256 random bits need no salt and no
    slow hash: there is nothing to guess."""
    secret = f"hk_{mode}_{secrets.token_urlsafe(32)}"
    return secret, stored_key(secret, name, scopes)


def stored_key(secret: str, name: str, scopes: Sequence[str] = ALL_SCOPES) -> NewKey:
    hashed = secret_hash(secret.encode())
    assert hashed is not None, "not a secret key of ours"
    return NewKey(name, secret[:_PREFIX_LENGTH], hashed, tuple(str(scope) for scope in scopes))


def secret_hash(secret: bytes) -> bytes | None:
    """None when this cannot be one of our keys: nobody has to look for it then."""
    return sha256(secret).digest() if _SECRET.fullmatch(secret) else None


class Authenticator:
    """Remembers whom it has found for a short while, and never that it has not found somebody: a
    key works from the moment it exists."""

    def __init__(self, keys: KeyDirectory, clock: Callable[[], float] = time.monotonic) -> None:
        self._keys = keys
        self._clock = clock
        self._lock = Lock()
        self._remembered: OrderedDict[bytes, tuple[float, Principal]] = OrderedDict()

    def remembered(self, hashed: bytes) -> Principal | None:
        """Never blocks."""
        with self._lock:
            entry = self._remembered.get(hashed)
            if entry is None:
                return None
            forget_at, principal = entry
            if self._clock() >= forget_at:
                del self._remembered[hashed]
                return None
            self._remembered.move_to_end(hashed)
            return principal

    def find(self, hashed: bytes) -> Principal | None:
        """Asks the directory: blocks, and may raise StoreUnavailable."""
        # The time counts from before the look, for a revocation may follow right after it.
        forget_at = self._clock() + REMEMBERED_SECONDS
        principal = self._keys.find(hashed)
        if principal is not None:
            with self._lock:
                self._remembered[hashed] = (forget_at, principal)
                self._remembered.move_to_end(hashed)
                if len(self._remembered) > REMEMBERED_MAX:
                    self._remembered.popitem(last=False)
        return principal
