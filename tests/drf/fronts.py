"""A platform whose clients use the Django project for every route that it has, and the server for
all others."""

import re
from dataclasses import dataclass, field

import httpx

from tests.drf.shops import RunningShop
from tests.support.platform import Platform, new_platform

# What examples/django_shop mounts, by method and path.
SHARED = re.compile(
    r"(GET|HEAD|POST) /api/holds"
    r"|(GET|HEAD|DELETE) /api/holds/[^/]+"
    r"|POST /api/holds/[^/]+/(release|extend|confirm)"
    r"|(GET|HEAD|PUT|DELETE) /api/carts/[^/]+/hold"
    r"|POST /api/carts/[^/]+/hold/renew"
    r"|POST /api/checkouts"
    r"|(GET|HEAD) /api/checkouts/[^/]+"
    r"|POST /api/checkouts/[^/]+/complete"
    r"|(GET|HEAD) /api/orders(/[^/]+)?"
    r"|(GET|HEAD) /api/sessions/[^/]+/availability"
)


@dataclass
class Fronts(httpx.BaseTransport):
    shop: RunningShop
    both: httpx.HTTPTransport = field(default_factory=lambda: httpx.HTTPTransport(verify=False))
    # How many requests the shop has answered: a test that has none shows nothing.
    answered_by_shop: int = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode("ascii").partition("?")[0]
        if SHARED.fullmatch(f"{request.method} {path}"):
            self.answered_by_shop += 1
            request.url = request.url.copy_with(port=self.shop.port)
            request.headers["host"] = request.url.netloc.decode("ascii")
        return self.both.handle_request(request)


@dataclass
class DjangoPlatform(Platform):
    fronts: Fronts = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.client = httpx.Client(
            base_url=self.base_url,
            headers=self.client.headers,
            timeout=60,
            event_hooks=self.client.event_hooks,
            transport=self.fronts,
        )


def django_platform(shop: RunningShop, database_url: str) -> DjangoPlatform:
    made = new_platform(shop.platform.base_url, database_url)
    return DjangoPlatform(made.base_url, made.secret_key, made.organization_id, fronts=Fronts(shop))
