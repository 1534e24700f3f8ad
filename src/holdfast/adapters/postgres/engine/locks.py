"""Names of advisory locks."""

from holdfast.domain.group.footprint import Resource

# Odd constants that spread neighbouring ids over the 64 bits. A collision only makes two resources
# share a lock.
_ORGANIZATION = 0x9E3779B97F4A7C15F39CC0605CEDC835
_NAME = 0xC2B2AE3D27D4EB4F165667B19E3779F9
_MASK = (1 << 64) - 1


def advisory_name(resource: Resource) -> int:
    """A signed 64-bit number, the same in every process."""
    mixed = resource.organization_id.int * _ORGANIZATION + resource.name.int * _NAME + resource.kind
    folded = (mixed ^ (mixed >> 64)) & _MASK
    return folded - (1 << 64) if folded >> 63 else folded
