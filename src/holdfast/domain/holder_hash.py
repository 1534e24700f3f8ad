"""Keyed hashes of holders, to identify them in the audit log and to find holds and orders by
address. Callers who know an address find its rows; a copy of the tables alone reveals nobody."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from hashlib import blake2b, sha256
from typing import Any

from holdfast.domain.ids import OrganizationId
from holdfast.domain.values import EmailAddress, Holder

# Most addresses of a group are hashed twice: for the hold and for its entry in the audit log.
REMEMBERED_MAX = 4096


class HolderHashes:
    """New hashes use the first secret; the others, from before a rotation, only find old ones, and
    so do the `older` ones where no secret makes new hashes. Without a secret, the audit log has no
    hashes, because a list of addresses would reverse a hash without a key. Each hold needs a hash,
    so it is a keyed BLAKE2b (RFC 7693), which is faster than the HMAC in messages. Each
    organization has different hashes, so organizations cannot find out which customers they
    share."""

    def __init__(self, *secrets: str, older: Sequence[str] = ()) -> None:
        self._is_keyed = bool(secrets)
        # The last has no secret, to find rows from before there was one.
        self._hashes = [_keyed(secret) for secret in (*secrets, *older, "")]
        self._newest = self._hashes[0 if secrets else -1]
        self._others = [each for each in self._hashes if each is not self._newest]
        # Stored in a row to find it by its address. Without a secret, the hash has no key.
        self.address_key = lru_cache(maxsize=REMEMBERED_MAX)(self._address_key)

    def of(
        self, organization_id: OrganizationId, holder: Holder | None
    ) -> tuple[str | None, str | None]:
        """The hash of the user id or, without one, of the address. If there are both, the second
        value is the hash of the address. In hexadecimal. None for an address that cannot be
        read."""
        if holder is None or not self._is_keyed:
            return None, None
        email, user_id = holder.email, holder.user_id
        address = None
        if email is not None and email.is_readable:
            address = self.address_key(organization_id.int, email.value)
        if user_id is None:
            return address, None
        return self._newest(_user(user_id), person=organization_id.bytes).hexdigest(), address

    def all_of(self, organization_id: OrganizationId, holder: Holder) -> list[str]:
        """The person's hash with each secret; empty without a secret."""
        email, user_id, own = holder.email, holder.user_id, organization_id.bytes
        if user_id is not None:
            text = _user(user_id)
        else:
            assert email is not None
            text = _address(email.value)
        return [each(text, person=own).hexdigest() for each in self._hashes[:-1]]

    def address_keys(self, organization_id: OrganizationId, email: EmailAddress) -> list[str]:
        """The hashes that rows with this address may have, the newest first."""
        newest = self.address_key(organization_id.int, email.value)
        text, own = _address(email.value), organization_id.bytes
        return [newest, *[each(text, person=own).hexdigest() for each in self._others]]

    def _address_key(self, organization: int, address: str) -> str:
        own = organization.to_bytes(16, "big")
        text = b"email " + address.lower().encode()  # as `_address`, without its call
        hashed: str = self._newest(text, person=own).hexdigest()
        return hashed


def _keyed(secret: str) -> Callable[..., Any]:
    # The prefix separates this key from those for other uses of the secret.
    key = sha256(b"holdfast audit " + secret.encode()).digest()
    return partial(blake2b, key=key, digest_size=16)


def _address(address: str) -> bytes:
    return b"email " + address.lower().encode()


def _user(user_id: str) -> bytes:
    return b"user " + user_id.encode()


NO_HASHES = HolderHashes()
