"""Networks, by which addresses are counted."""

from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network

# The smallest network that a provider gives a customer, who can use any address in it.
_PREFIX_LENGTH = 64


def network_of(address: str) -> str:
    """An IPv4 address itself, and the network of an IPv6 address. Other texts, such as that of a
    Unix socket, stay."""
    return _network_of(address) if ":" in address else address


@lru_cache(maxsize=4096)
def _network_of(address: str) -> str:
    try:
        parsed = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((parsed, _PREFIX_LENGTH), strict=False))
