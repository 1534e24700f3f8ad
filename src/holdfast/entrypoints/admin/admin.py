"""The module that Django imports: importing a subject registers its pages."""

from django.contrib import admin

from holdfast.entrypoints.admin import access, audit, facts, keys
from holdfast.entrypoints.admin.catalog import pages as catalog
from holdfast.entrypoints.admin.holds import pages as holds
from holdfast.entrypoints.admin.orders import pages as orders
from holdfast.entrypoints.admin.people import accounts, log_in, members
from holdfast.entrypoints.admin.seats import pages as seats
from holdfast.entrypoints.admin.waitlist import pages as waitlist

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

admin.site.index_template = "holdfast/dashboard.html"
