"""Authentication by secret: an API key, or the session of a member. Both are stored as hashes."""

import math
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from threading import Lock
from typing import TypeVar
from uuid import UUID

from uuid_utils.compat import uuid7

from holdfast.domain.access.keys import NewSecret
from holdfast.domain.access.scopes import Mode
from holdfast.domain.ids import ApiKeyId
from holdfast.ports.access import KeyDirectory, Principal

T = TypeVar("T")

# A key in use is looked up again this often, which also notes that it is in use.
REMEMBERED_SECONDS = 10.0
REMEMBERED_MAX = 4096
# Repeating a wrong key costs one look-up in this time.
UNKNOWN_SECONDS = 2.0
UNKNOWN_MAX = 1024
# A look-up that was overtaken by a change of the same credential or organization is repeated, up to
# this many times in all.
LOOKUPS_MAX = 3
# Credentials and organizations whose last change is known.
CHANGED_MAX = 16_384
_PREFIX_LENGTH = 12

_SECRET = re.compile(rb"(?:hk_test|hk_live|hs)_[A-Za-z0-9_-]{16,128}", re.ASCII)


def new_secret_key(mode: Mode) -> tuple[str, NewSecret]:
    """The secret, to be shown once, and what to store. 256 random bits cannot be guessed, so they
    need neither salt nor a slow hash."""
    secret = f"hk_{mode.value}_{secrets.token_urlsafe(32)}"
    return secret, stored_secret(secret)


def new_session_secret() -> tuple[str, bytes]:
    """The secret of a member's session, and its hash."""
    secret = f"hs_{secrets.token_urlsafe(32)}"
    return secret, sha256(secret.encode()).digest()


def stored_secret(secret: str) -> NewSecret:
    hashed = secret_hash(secret.encode())
    assert hashed is not None, "not a secret key of ours"
    return NewSecret(ApiKeyId(uuid7()), secret[:_PREFIX_LENGTH], hashed)


def secret_hash(secret: bytes) -> bytes | None:
    """None when this cannot be one of our keys, which saves the look-up."""
    return sha256(secret).digest() if _SECRET.fullmatch(secret) else None


class _Changes:
    """Numbers the changes. The last one of a credential or its organization tells whether a cached
    principal is stale: a change costs the same however many are cached, and only those that it
    concerns are looked up again."""

    def __init__(self) -> None:
        self.count = 0
        self.of_credentials = 0  # the last that can have made an unknown credential valid
        self._before = 0  # what is not listed may have changed up to here
        self._last: OrderedDict[UUID, int] = OrderedDict()

    def note(self, changed: UUID | None) -> None:
        """None if anything may have changed."""
        self.count += 1
        if changed is None:
            self._before = self.count
            self._last.clear()
            return
        self._last[changed] = self.count
        self._last.move_to_end(changed)
        if len(self._last) > CHANGED_MAX:
            _, self._before = self._last.popitem(last=False)

    def concern(self, principal: Principal, since: int) -> bool:
        return since < max(
            self._before,
            self._last.get(principal.organization_id, 0),
            self._last.get(principal.credential_id, 0),
        )


class Authenticator:
    """Recognizes keys by the hashes of their secrets, and holder tokens by the tokens themselves.

    Caches valid keys for a short time and unknown ones for a shorter time. Both caches are
    bounded, and separate: unknown keys never evict valid ones.

    Changes of keys are announced (`forget`). Without `trust`, nothing is served from the cache: a
    process that would not hear of a revocation asks every time."""

    def __init__(
        self,
        keys: KeyDirectory,
        clock: Callable[[], float] = time.monotonic,
        *,
        lasts_seconds: float = REMEMBERED_SECONDS,
        size_max: int = REMEMBERED_MAX,
    ) -> None:
        self._keys = keys
        self._clock = clock
        self._lasts_seconds = lasts_seconds
        self._size_max = size_max
        self._lock = Lock()
        # Until when, and the number of changes before the look-up.
        self._remembered: OrderedDict[bytes, tuple[float, int, Principal]] = OrderedDict()
        self._unknown: OrderedDict[bytes, tuple[float, int]] = OrderedDict()
        self._trusted_until = -math.inf
        self._changes = _Changes()

    def trust(self, seconds: float) -> None:
        """Changes of keys would be heard for this long."""
        self._trusted_until = self._clock() + seconds

    def forget(self, credential_id: UUID | None) -> None:
        """This key or session has changed or is new, or any may have changed."""
        with self._lock:
            self._changes.note(credential_id)
            self._changes.of_credentials = self._changes.count

    def forget_organization(self, organization_id: UUID | None) -> None:
        """Tokens of this organization were revoked, or any may have been."""
        with self._lock:
            self._changes.note(organization_id)

    def remembered(self, hashed: bytes) -> Principal | None:
        """Never blocks."""
        with self._lock:
            entry = self._remembered.get(hashed)
            if entry is None:
                return None
            forget_at, since, principal = entry
            self._remembered.move_to_end(hashed)
            if since < self._changes.count:
                if self._changes.concern(principal, since):
                    return None
                # Don't compare again until the next change.
                self._remembered[hashed] = (forget_at, self._changes.count, principal)
            now = self._clock()
            return principal if now < forget_at and now < self._trusted_until else None

    def was_known(self, hashed: bytes) -> bool:
        """Whether this key was valid at its last look-up, however long ago."""
        with self._lock:
            return hashed in self._remembered

    def is_unknown(self, hashed: bytes) -> bool:
        """Whether this key did not exist a moment ago. Never blocks."""
        with self._lock:
            until, since = self._unknown.get(hashed, (-math.inf, 0))
            return self._clock() < until and since >= self._changes.of_credentials

    def find(self, hashes: Sequence[bytes]) -> Mapping[bytes, Principal]:
        """Look the keys up in the directory. Blocks, and may raise a StoreError."""
        found: dict[bytes, Principal] = {}
        asked: Sequence[bytes] = hashes
        for _ in range(LOOKUPS_MAX):
            # The time counts from before the look-up, and so do changes: a key may be revoked
            # between the look-up and the next line.
            asked_at, since = self._clock(), self._changes.count
            answer = self._keys.find(asked)
            with self._lock:
                for hashed in asked:
                    self._note_answer(hashed, answer.get(hashed), asked_at, since)
                overtaken = [each for each in asked if self._is_overtaken(answer.get(each), since)]
            for hashed in asked:
                found.pop(hashed, None)
            found.update(answer)
            if not overtaken:
                break
            asked = overtaken
        return found

    def _is_overtaken(self, principal: Principal | None, since: int) -> bool:
        if principal is None:
            return since < self._changes.of_credentials
        return self._changes.concern(principal, since)

    def _note_answer(
        self, hashed: bytes, principal: Principal | None, asked_at: float, since: int
    ) -> None:
        if principal is None:
            self._remembered.pop(hashed, None)
            _keep(self._unknown, hashed, (asked_at + UNKNOWN_SECONDS, since), UNKNOWN_MAX)
            return
        lasts = self._lasts_seconds
        if principal.expires_in_seconds is not None:
            lasts = min(lasts, principal.expires_in_seconds)
        _keep(self._remembered, hashed, (asked_at + lasts, since, principal), self._size_max)


def _keep(memory: OrderedDict[bytes, T], hashed: bytes, entry: T, size_max: int) -> None:
    """Add an entry, and evict the least recently used one if the cache is full."""
    memory[hashed] = entry
    memory.move_to_end(hashed)
    if len(memory) > size_max:
        memory.popitem(last=False)
