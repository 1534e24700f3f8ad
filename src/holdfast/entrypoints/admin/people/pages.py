"""The scope that each page needs."""

from collections.abc import Mapping

from holdfast.domain.access.scopes import Scope

# A page that is not listed is for operators only.
SCOPE_OF_PAGE: Mapping[str, Scope] = {
    "organization": Scope.SETTINGS_READ,
    "apikey": Scope.KEYS_READ,
    "member": Scope.MEMBERS_READ,
    "event": Scope.CATALOG_READ,
    "session": Scope.CATALOG_READ,
    "tickettype": Scope.CATALOG_READ,
    "pool": Scope.CATALOG_READ,
    "block": Scope.CATALOG_READ,
    "seat": Scope.CATALOG_READ,
    "hold": Scope.HOLDS_READ,
    "waitlist": Scope.HOLDS_READ,
    "checkout": Scope.HOLDS_READ,
    "order": Scope.ORDERS_READ,
    "fact": Scope.FACTS_READ,
    "auditentry": Scope.AUDIT_READ,
}
