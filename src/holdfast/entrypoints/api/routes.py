"""The table of routes. Routing, validation, the OpenAPI document and the tests' access matrix use
it."""

from typing import Any

from holdfast.entrypoints.api.audit.routes import AUDIT_ROUTES
from holdfast.entrypoints.api.carts.routes import CART_ROUTES
from holdfast.entrypoints.api.catalog.routes import CATALOG_ROUTES
from holdfast.entrypoints.api.facts.routes import FACT_ROUTES
from holdfast.entrypoints.api.holds.routes import HOLD_ROUTES
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.keys.routes import KEY_ROUTES
from holdfast.entrypoints.api.mails.routes import MAIL_ROUTES
from holdfast.entrypoints.api.members.routes import MEMBER_ROUTES
from holdfast.entrypoints.api.orders.routes import ORDER_ROUTES
from holdfast.entrypoints.api.organization.routes import ORGANIZATION_ROUTES
from holdfast.entrypoints.api.privacy.routes import PRIVACY_ROUTES
from holdfast.entrypoints.api.seats.routes import SEAT_ROUTES
from holdfast.entrypoints.api.tokens.routes import TOKEN_ROUTES

ROUTES: tuple[Route[Any], ...] = (
    *HOLD_ROUTES,
    *CATALOG_ROUTES,
    *SEAT_ROUTES,
    *CART_ROUTES,
    *ORDER_ROUTES,
    *FACT_ROUTES,
    *AUDIT_ROUTES,
    *KEY_ROUTES,
    *MEMBER_ROUTES,
    *ORGANIZATION_ROUTES,
    *MAIL_ROUTES,
    *TOKEN_ROUTES,
    *PRIVACY_ROUTES,
)
