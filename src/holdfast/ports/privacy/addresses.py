"""The stored form of addresses and attendees: sealed, with a hash to find them by address."""

import json
from functools import lru_cache
from typing import Protocol
from uuid import UUID

from holdfast.domain.holder_hash import NO_HASHES, REMEMBERED_MAX, HolderHashes
from holdfast.domain.ids import OrganizationId
from holdfast.domain.orders.order import Attendee
from holdfast.domain.values import EmailAddress, InvalidValue, digest
from holdfast.ports.store import Rejected

# The first byte of a text stored without a secret. Sealed texts begin with another version.
CLEAR = b"\x00"


class SecretMissing(Rejected):
    """A text is sealed with a secret that this process does not have. Only commands that need the
    text fail, not others in the same group."""

    def __init__(self, secret_id: bytes = b"") -> None:
        named = f" (id {secret_id.hex()})" if secret_id else ""
        super().__init__(
            f"HOLDFAST_SECRET_KEY or HOLDFAST_SECRET_KEY_FALLBACKS lacks a secret{named}"
        )


class UnreadableAddress(EmailAddress):
    """A stored address that cannot be opened. Reading its text raises SecretMissing. Code that
    does not need the text, such as the reaper, continues: one such row must not stop the sale of
    its session."""

    __slots__ = ("_sealed",)

    is_readable = False

    def __init__(self, sealed: bytes) -> None:
        self._sealed = sealed

    @property
    def value(self) -> str:
        raise SecretMissing

    @property
    def key(self) -> UUID:
        return digest(f"unreadable {self._sealed.hex()}")

    @property
    def redacted(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnreadableAddress) and self._sealed == other._sealed

    def __hash__(self) -> int:
        return hash(self._sealed)


class TextSeal(Protocol):
    """Encrypts texts with a key for each organization, which is given by the bytes of its id."""

    def sealed(self, organization: bytes, text: str) -> bytes: ...

    def opened(self, organization: bytes, sealed: bytes) -> str:
        """Raises SecretMissing."""
        ...

    def knows(self, sealed: bytes) -> bool:
        """Whether the secret of this text is here. The text may still be damaged."""
        ...

    @property
    def mark(self) -> bytes:
        """The first bytes of every text that is sealed with the newest secret."""
        ...


class NoSeal:
    """For an installation without a secret: texts are stored as they are."""

    mark = CLEAR

    def sealed(self, organization: bytes, text: str) -> bytes:
        return CLEAR + text.encode()

    def opened(self, organization: bytes, sealed: bytes) -> str:
        if not sealed.startswith(CLEAR):
            raise SecretMissing
        return sealed[1:].decode()

    def knows(self, sealed: bytes) -> bool:
        return sealed.startswith(CLEAR)


Stored = tuple[bytes | None, str | None]
_NOTHING: Stored = (None, None)
_NO_SEAL = NoSeal()


class Addresses:
    """Converts addresses and attendees to their stored form and back. Caches addresses both ways,
    because a hold needs its own several times."""

    def __init__(self, seal: TextSeal = _NO_SEAL, hashes: HolderHashes = NO_HASHES) -> None:
        self.seal = seal
        self.hashes = hashes
        self._sealed = lru_cache(maxsize=REMEMBERED_MAX)(self._seal)
        self._sealed_attendee = lru_cache(maxsize=REMEMBERED_MAX)(self._seal_attendee)
        self._opened = lru_cache(maxsize=REMEMBERED_MAX)(self._open)

    def stored(self, organization_id: OrganizationId, email: EmailAddress | None) -> Stored:
        """The sealed address, and the hash that finds it. Raises SecretMissing for an unreadable
        one: nothing may be written without the address of its holder."""
        return _NOTHING if email is None else self._sealed(organization_id.int, email.value)

    def opened(self, organization_id: UUID, sealed: bytes | None) -> EmailAddress | None:
        """Raises nothing: see UnreadableAddress."""
        return None if sealed is None else self._opened(organization_id.int, sealed)

    def stored_attendee(self, organization_id: OrganizationId, attendee: Attendee | None) -> Stored:
        """Name and address, sealed as one text, and the hash that finds the address."""
        return _NOTHING if attendee is None else self._sealed_attendee(organization_id, attendee)

    def opened_attendee(self, organization_id: UUID, sealed: bytes | None) -> Attendee | None:
        """Raises SecretMissing."""
        if sealed is None:
            return None
        try:
            name, email = json.loads(self.seal.opened(organization_id.bytes, sealed))
            return Attendee(name, None if email is None else EmailAddress(email))
        except (ValueError, InvalidValue):
            raise SecretMissing from None  # damaged

    def readable_attendee(self, organization_id: UUID, sealed: bytes | None) -> Attendee | None:
        """None for one that cannot be opened: the rest of the order can be read."""
        try:
            return self.opened_attendee(organization_id, sealed)
        except SecretMissing:
            return None

    def _seal(self, organization: int, address: str) -> Stored:
        sealed = self.seal.sealed(organization.to_bytes(16, "big"), address)
        return sealed, self.hashes.address_key(organization, address)

    def _seal_attendee(self, organization_id: OrganizationId, attendee: Attendee) -> Stored:
        email = attendee.email
        text = json.dumps([attendee.name, email and email.value])
        own = organization_id.int
        key = None if email is None else self.hashes.address_key(own, email.value)
        return self.seal.sealed(organization_id.bytes, text), key

    def _open(self, organization: int, sealed: bytes) -> EmailAddress:
        try:
            return EmailAddress(self.seal.opened(organization.to_bytes(16, "big"), sealed))
        except (SecretMissing, ValueError, InvalidValue):
            return UnreadableAddress(sealed)


CLEAR_ADDRESSES = Addresses()
