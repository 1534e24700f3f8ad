"""The text of a search, encrypted for the URL of its results. URLs end up in logs and browser
histories, and the text may be an address or a ticket code."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from os import urandom

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

_NONCE_BYTES = 12


def sealed(text: str, person_id: int) -> str:
    """Only this person can open it."""
    nonce = urandom(_NONCE_BYTES)
    encrypted = _cipher().encrypt(nonce, text.encode(), str(person_id).encode())
    return urlsafe_b64encode(nonce + encrypted).decode().rstrip("=")


def opened(token: str, person_id: int) -> str | None:
    """None if the token is somebody else's, made with an older secret, or damaged."""
    try:
        given = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        nonce, encrypted = given[:_NONCE_BYTES], given[_NONCE_BYTES:]
        return _cipher().decrypt(nonce, encrypted, str(person_id).encode()).decode()
    except (InvalidTag, ValueError):
        return None


def _cipher() -> AESGCM:
    # The prefix separates this key from those for other uses of the secret.
    return AESGCM(sha256(b"holdfast find " + settings.SECRET_KEY.encode()).digest())
