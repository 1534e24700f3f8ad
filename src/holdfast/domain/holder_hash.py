"""The keyed hash of a holder, for the audit log and for messages: who knows the address finds the
person's entries, and a copy of the table alone reveals nobody."""

import hmac
from uuid import UUID

from holdfast.domain.values import Holder

# The audit stores half of the hash, as a UUID.
_STORED_DIGITS = 32


def holder_hash(holder_key: UUID, secret: bytes) -> str:
    return hmac.digest(secret, holder_key.bytes, "sha256").hex()


class HolderHashes:
    """The hashes that the audit stores. Without the installation's secret there are none: a hash
    without a key could be guessed from a list of addresses."""

    def __init__(self, secret: str | None = None) -> None:
        self._secret = None if secret is None else secret.encode()

    @property
    def is_keyed(self) -> bool:
        return self._secret is not None

    def of(self, holder: Holder | None) -> tuple[str | None, str | None]:
        """The hash of the person (of the user id, or else of the address), and that of the address
        if there is a user id, too."""
        if holder is None or self._secret is None:
            return None, None
        person = holder_hash(holder.key, self._secret)[:_STORED_DIGITS]
        if holder.user_id is None or holder.email is None:
            return person, None
        address = Holder(holder.email).key
        return person, holder_hash(address, self._secret)[:_STORED_DIGITS]


NO_HASHES = HolderHashes()
