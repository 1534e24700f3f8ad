"""Encryption of stored answers: the database alone does not reveal whose hold it was.

An answer is stored for retries, and names a cart, seats, attendees and ticket codes. Every retry
sends the caller's secret key and the idempotency key, of which we store only hashes. The encryption
key is derived from these two, so it is stored nowhere. Tokens of the same holder differ, so instead
of a token, a secret of the holder is used that is derived from the installation's.

A sealed answer is a version byte, a nonce and the ciphertext (AES-256-GCM). It is bound to the
request's fingerprint: moved to another row, it cannot be decrypted.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from hashlib import blake2b

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from uuid_utils import uuid4

from holdfast.domain.immutable import immutable

_VERSION = b"\x01"
_NONCE_BYTES = 12
_KEY_BYTES = 32
_PURPOSE = b"holdfast answer"


@immutable
class Seal:
    """Encrypts and decrypts the answer to one request."""

    _cipher: AESGCM = field(repr=False)
    _fingerprint: bytes
    _older: tuple[AESGCM, ...] = field(default=(), repr=False)

    def close(self, answer: bytes) -> bytes:
        # os.urandom is a system call, which would release the interpreter lock for every hold.
        nonce = uuid4().bytes[:_NONCE_BYTES]
        return _VERSION + nonce + self._cipher.encrypt(nonce, answer, self._fingerprint)

    def open(self, stored: bytes) -> bytes:
        """Unsealed answers of older versions start with the digit of a status."""
        if not stored.startswith(_VERSION):
            return stored
        nonce, sealed = stored[1 : 1 + _NONCE_BYTES], stored[1 + _NONCE_BYTES :]
        for cipher in self._older:
            with suppress(InvalidTag):
                return cipher.decrypt(nonce, sealed, self._fingerprint)
        return self._cipher.decrypt(nonce, sealed, self._fingerprint)


def seal_of(secret: bytes, key: str, fingerprint: bytes, older: Sequence[bytes] = ()) -> Seal:
    """`secret` is the credential as sent, or a secret of the holder; `older` ones still open what
    was sealed before a rotation. The separator does not occur in the key."""
    opening = tuple(_cipher(each, key) for each in older) if older else ()
    return Seal(_cipher(secret, key), fingerprint, opening)


def _cipher(secret: bytes, key: str) -> AESGCM:
    made = blake2b(secret + b"\n" + key.encode(), digest_size=_KEY_BYTES, person=_PURPOSE)
    return AESGCM(made.digest())
