"""Keys that are derived from the installation's secrets. The first secret is the current one; the
others, from before a rotation, are only for what it left behind."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

ID_BYTES = 4
KEY_BYTES = 32
NONCE_BYTES = 12


class InstallationSecrets:
    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = {_id(each): each.encode() for each in secrets}
        # What tells the secrets apart, the newest first; it says nothing about them.
        self.ids = tuple(self._secrets)
        # Bounded: anybody can send the ids of organizations that do not exist.
        self.key = lru_cache(maxsize=4096)(self._derive)
        self.cipher = lru_cache(maxsize=4096)(self._cipher)

    def _derive(self, secret_id: bytes, name: bytes) -> bytes:
        derivation = HKDF(SHA256(), KEY_BYTES, salt=None, info=b"holdfast holder " + name)
        return derivation.derive(self._secrets[secret_id])

    def _cipher(self, secret_id: bytes, name: bytes) -> AESGCM:
        return AESGCM(self.key(secret_id, name))


def _id(secret: str) -> bytes:
    return sha256(b"holdfast secret id " + secret.encode()).digest()[:ID_BYTES]
