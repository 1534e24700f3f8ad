"""The module that Django imports: importing a subject registers its pages."""

from holdfast.entrypoints.admin import access, audit, catalog, facts, keys, orders, waitlist
from holdfast.entrypoints.admin.holds import pages as holds
from holdfast.entrypoints.admin.people import accounts, log_in, members
from holdfast.entrypoints.admin.seats import pages as seats

__all__ = [
    "access",
    "accounts",
    "audit",
    "catalog",
    "facts",
    "holds",
    "keys",
    "log_in",
    "members",
    "orders",
    "seats",
    "waitlist",
]
