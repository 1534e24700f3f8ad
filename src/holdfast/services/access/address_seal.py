"""Addresses and attendees at rest: a version byte, 4 bytes that say which secret it was made with,
a nonce and the text, encrypted and authenticated (AES-256-GCM) with a key of the organization that
is derived as for holder tokens (ADR 0048)."""

from collections.abc import Sequence
from os import urandom

from cryptography.exceptions import InvalidTag

from holdfast.ports.privacy.addresses import CLEAR, NoSeal, SecretMissing, TextSeal
from holdfast.services.access.installation_secrets import (
    ID_BYTES,
    NONCE_BYTES,
    InstallationSecrets,
)

_VERSION = b"\x01"
_NONCE_AT = 1 + ID_BYTES
_TEXT_AT = _NONCE_AT + NONCE_BYTES
_NAME = b"address"


class AddressSeal:
    """Implements TextSeal. Opens what was sealed with an older secret, or stored without one."""

    def __init__(self, secrets: InstallationSecrets) -> None:
        self._secrets = secrets
        self._newest = secrets.ids[0]
        self.mark = _VERSION + self._newest

    def sealed(self, organization: bytes, text: str) -> bytes:
        nonce = urandom(NONCE_BYTES)
        cipher = self._secrets.cipher(self._newest, _NAME + organization)
        return self.mark + nonce + cipher.encrypt(nonce, text.encode(), self.mark)

    def opened(self, organization: bytes, sealed: bytes) -> str:
        if sealed.startswith(CLEAR):
            return sealed[1:].decode()
        mark, nonce = sealed[:_NONCE_AT], sealed[_NONCE_AT:_TEXT_AT]
        secret_id = mark[1:]
        if secret_id not in self._secrets.ids:
            raise SecretMissing
        cipher = self._secrets.cipher(secret_id, _NAME + organization)
        try:
            return cipher.decrypt(nonce, sealed[_TEXT_AT:], mark).decode()
        except (InvalidTag, ValueError):
            raise SecretMissing from None  # moved from another organization, or damaged

    def knows(self, sealed: bytes) -> bool:
        return sealed.startswith(CLEAR) or sealed[1:_NONCE_AT] in self._secrets.ids


class OpeningSeal(NoSeal):
    """Seals nothing yet, but opens what others have sealed: on the way to the first secret."""

    def __init__(self, secrets: InstallationSecrets) -> None:
        self._others = AddressSeal(secrets)

    def opened(self, organization: bytes, sealed: bytes) -> str:
        return self._others.opened(organization, sealed)

    def knows(self, sealed: bytes) -> bool:
        return self._others.knows(sealed)


def address_seal(secrets: Sequence[str], older: Sequence[str] = ()) -> TextSeal:
    """`older` ones count where there is no current secret."""
    if secrets:
        return AddressSeal(InstallationSecrets(secrets))
    return OpeningSeal(InstallationSecrets(older)) if older else NoSeal()
