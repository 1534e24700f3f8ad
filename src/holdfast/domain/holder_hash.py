"""The keyed hash of a holder in the audit log. Those who know an address find its entries, and a
copy of the table alone reveals nobody."""

from functools import partial
from hashlib import blake2b, sha256

from holdfast.domain.ids import OrganizationId
from holdfast.domain.values import Holder


class HolderHashes:
    """Without the installation's secret there are no hashes: one without a key could be guessed
    from a list of addresses. Each hold needs one, so it is a keyed BLAKE2b (RFC 7693), and not the
    slower HMAC of the messages."""

    def __init__(self, secret: str | None = None) -> None:
        self._is_keyed = secret is not None
        # The prefix makes it another key than those for other uses of the secret.
        key = sha256(b"holdfast audit " + (secret or "").encode()).digest()
        self._hash = partial(blake2b, key=key, digest_size=16)

    def of(
        self, organization_id: OrganizationId, holder: Holder | None
    ) -> tuple[str | None, str | None]:
        """The hash of the person (of the user id, or else of the address), and that of the address
        if there is a user id, too. As hexadecimal digits. Organizations have hashes of their own,
        so that they cannot find out which customers they share."""
        if holder is None or not self._is_keyed:
            return None, None
        email, user_id, own = holder.email, holder.user_id, organization_id.bytes
        address = None
        if email is not None:
            text = b"email " + email.value.lower().encode()
            address = self._hash(text, person=own).hexdigest()
        if user_id is None:
            return address, None
        return self._hash(b"user " + user_id.encode(), person=own).hexdigest(), address


NO_HASHES = HolderHashes()
