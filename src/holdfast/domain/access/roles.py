"""The roles of an organization's members. Whatever a role does not list is denied."""

from collections.abc import Mapping
from enum import StrEnum

from holdfast.domain.access.scopes import ALL_SCOPES, Scope


class Role(StrEnum):
    """The most powerful first."""

    OWNER = "owner"
    MANAGER = "manager"
    SUPPORT = "support"
    VIEWER = "viewer"


_VIEW = (
    *(Scope.CATALOG_READ, Scope.HOLDS_READ, Scope.ORDERS_READ, Scope.FACTS_READ),
    Scope.SETTINGS_READ,
)
_SUPPORT = (
    *_VIEW,
    *(Scope.HOLDS_WRITE, Scope.HOLDS_OPERATE, Scope.ORDERS_CANCEL),
    *(Scope.SEATS_BLOCK, Scope.AUDIT_READ),
)

SCOPES_OF_ROLE: Mapping[Role, frozenset[Scope]] = {
    Role.OWNER: frozenset(ALL_SCOPES),
    Role.MANAGER: frozenset((*_SUPPORT, Scope.CATALOG_WRITE)),
    Role.SUPPORT: frozenset(_SUPPORT),
    Role.VIEWER: frozenset(_VIEW),
}

MEANING_OF_ROLE: Mapping[Role, str] = {
    Role.OWNER: "do everything, including keys, members and settings, and forget people",
    Role.MANAGER: "change the catalog, and do everything that support may",
    Role.SUPPORT: "place, extend and release holds, cancel orders, block seats, read the audit log",
    Role.VIEWER: "read the catalog, holds, orders, facts and settings",
}
