"""Sealing stored answers, so that the database alone does not tell whose hold it was.

A stored answer names a cart, seats, attendees and the codes of tickets. It is kept for those who
ask again, and whoever does that sends two things along that are stored nowhere, only their hashes:
the secret key of the caller and the key of the request. The seal is made of these two, so nobody
has to keep it.

A sealed answer is a version byte, a nonce and the ciphertext (AES-256-GCM). The fingerprint of the
request is bound to it: moved to another row, it does not open.
"""

from dataclasses import dataclass, field
from hashlib import blake2b

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from uuid_utils import uuid4

_VERSION = b"\x01"
_NONCE_BYTES = 12
_KEY_BYTES = 32
_PURPOSE = b"holdfast answer"


@dataclass(frozen=True, slots=True)
class Seal:
    """Of the answers to one request."""

    _cipher: AESGCM = field(repr=False)
    _fingerprint: bytes

    def close(self, answer: bytes) -> bytes:
        # Random as any, but without a system call, in which the engine's thread would have to let
        # go of the interpreter lock, once for every hold.
        nonce = uuid4().bytes[:_NONCE_BYTES]
        return _VERSION + nonce + self._cipher.encrypt(nonce, answer, self._fingerprint)

    def open(self, stored: bytes) -> bytes:
        """Answers that were stored before there was a seal begin with the digit of a status."""
        if not stored.startswith(_VERSION):
            return stored
        nonce, sealed = stored[1 : 1 + _NONCE_BYTES], stored[1 + _NONCE_BYTES :]
        return self._cipher.decrypt(nonce, sealed, self._fingerprint)


def seal_of(secret: bytes, key: str, fingerprint: bytes) -> Seal:
    """`secret` is the credential as sent. Its length is told apart from that of the key by a byte
    that neither of them can have."""
    made = blake2b(digest_size=_KEY_BYTES, person=_PURPOSE)
    made.update(secret + b"\n" + key.encode())
    return Seal(AESGCM(made.digest()), fingerprint)
