"""The client's address behind trusted proxies.

Anybody can write anything into X-Forwarded-For, so it is read only if the peer is a proxy that the
operator trusts. Each proxy appends the address of its own peer: from right to left, the first
address that is no trusted proxy's is the client's.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from holdfast.bootstrap.settings import Network

Address = IPv4Address | IPv6Address

_HEADER = b"x-forwarded-for"


class TrustedProxies:
    def __init__(self, networks: Sequence[Network]) -> None:
        self._networks = networks
        # The same few proxies and clients come again and again.
        self._is_trusted = lru_cache(maxsize=4096)(self._is_in_networks)

    def client(
        self, peer: tuple[str, int] | None, headers: Iterable[tuple[bytes, bytes]]
    ) -> tuple[str, int] | None:
        """The peer itself if it is not trusted, or if what it forwards is malformed."""
        if peer is None or not self._is_trusted(_address(peer[0])):
            return peer
        forwarded = b",".join(value for name, value in headers if name == _HEADER)
        client = None
        while forwarded:
            forwarded, _, last = forwarded.rpartition(b",")
            client = _address(last.strip().decode("latin-1"))
            if client is None:
                return peer
            if not self._is_trusted(client):
                break
        return peer if client is None else (str(client), 0)

    def _is_in_networks(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


@lru_cache(maxsize=4096)
def _address(text: str) -> Address | None:
    """Without a zone (`%eth0`). An IPv4 address that came over IPv6 is the same address."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
