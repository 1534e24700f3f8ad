"""Encryption of stored answers: the database alone does not reveal whose hold it was.

An answer is stored for retries, and names a cart, seats, attendees and ticket codes. Every retry
sends the caller's secret key and the idempotency key, of which we store only hashes. The encryption
key is derived from these two, so it is stored nowhere.

A sealed answer is a version byte, a nonce and the ciphertext (AES-256-GCM). It is bound to the
request's fingerprint: moved to another row, it cannot be decrypted.
"""

from dataclasses import field
from hashlib import blake2b

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

    def close(self, answer: bytes) -> bytes:
        # os.urandom is a system call, which would release the interpreter lock for every hold.
        nonce = uuid4().bytes[:_NONCE_BYTES]
        return _VERSION + nonce + self._cipher.encrypt(nonce, answer, self._fingerprint)

    def open(self, stored: bytes) -> bytes:
        """Unsealed answers of older versions start with the digit of a status."""
        if not stored.startswith(_VERSION):
            return stored
        nonce, sealed = stored[1 : 1 + _NONCE_BYTES], stored[1 + _NONCE_BYTES :]
        return self._cipher.decrypt(nonce, sealed, self._fingerprint)


def seal_of(secret: bytes, key: str, fingerprint: bytes) -> Seal:
    """`secret` is the credential as sent. The separator occurs in neither of the two parts."""
    made = blake2b(secret + b"\n" + key.encode(), digest_size=_KEY_BYTES, person=_PURPOSE)
    return Seal(AESGCM(made.digest()), fingerprint)
