"""What a credential may do, and whose data it sees."""

from collections.abc import Iterable, Mapping
from enum import StrEnum


class Mode(StrEnum):
    """Every organization has a side for each mode, with data of its own."""

    TEST = "test"
    LIVE = "live"


class Scope(StrEnum):
    HOLDS_READ = "holds:read"
    HOLDS_WRITE = "holds:write"
    HOLDS_OPERATE = "holds:operate"  # exceed the policy
    ORDERS_READ = "orders:read"
    ORDERS_CANCEL = "orders:cancel"
    FACTS_READ = "facts:read"
    AUDIT_READ = "audit:read"
    CATALOG_READ = "catalog:read"
    CATALOG_WRITE = "catalog:write"
    SEATS_BLOCK = "seats:block"
    KEYS_READ = "keys:read"
    KEYS_WRITE = "keys:write"
    SETTINGS_READ = "settings:read"
    SETTINGS_WRITE = "settings:write"
    TOKENS_WRITE = "tokens:write"  # issues and revokes holder tokens
    MEMBERS_READ = "members:read"
    MEMBERS_WRITE = "members:write"
    PRIVACY_ERASE = "privacy:erase"  # forgets people, which cannot be undone
    INVENTORY = "inventory"  # the Hold Service, at the Inventory Service


ALL_SCOPES = tuple(Scope)

_HOLDS = (
    Scope.CATALOG_READ,
    Scope.HOLDS_READ,
    Scope.HOLDS_WRITE,
    Scope.ORDERS_READ,
    Scope.TOKENS_WRITE,
)
# Names for the scopes of a typical key.
SCOPE_SETS: Mapping[str, tuple[Scope, ...]] = {
    "catalog": (Scope.CATALOG_READ, Scope.CATALOG_WRITE, Scope.SEATS_BLOCK),
    "holds": _HOLDS,
    "operate": (
        *_HOLDS,
        *(Scope.HOLDS_OPERATE, Scope.ORDERS_CANCEL, Scope.SEATS_BLOCK, Scope.AUDIT_READ),
    ),
    "read": tuple(scope for scope in Scope if scope.endswith(":read")),
    "facts": (Scope.FACTS_READ,),
    "all": ALL_SCOPES,
}


def scopes_named(names: Iterable[str]) -> tuple[Scope, ...]:
    """The scopes with these names or in sets with these names, in their usual order. Raises
    ValueError for another name."""
    wanted = {
        scope
        for name in names
        for scope in (SCOPE_SETS[name] if name in SCOPE_SETS else (Scope(name),))
    }
    return tuple(scope for scope in Scope if scope in wanted)
