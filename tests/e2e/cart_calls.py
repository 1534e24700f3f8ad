"""A platform's cart and the requests that act on it."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx

from tests.e2e.paying import keyed, ok, read
from tests.support.platform import Hall, Json, Platform, Sale

WAITLIST = {"waitlist": True}


def in_parallel(calls: Sequence[Callable[[], httpx.Response]]) -> list[httpx.Response]:
    with ThreadPoolExecutor(len(calls)) as threads:
        return [future.result() for future in [threads.submit(call) for call in calls]]


def path_of(name: str) -> str:
    return f"/api/carts/{quote(name, safe='')}/hold"


def item(sale: Sale, quantity: int, number: int = 1, **more: Any) -> Json:
    """A cart item with this quantity of the ticket type with this number, counted from 1."""
    ticket_type_id = sale.ticket_type_ids[number - 1]
    named = {"cart_item_id": f"item-{number}", "ticket_type_id": ticket_type_id}
    return named | {"quantity": quantity} | more


def seats(*seat_ids: str, **more: Any) -> Json:
    return {"cart_item_id": "seats", "seat_ids": list(seat_ids)} | more


@dataclass
class Cart:
    platform: Platform
    sale: Sale | Hall
    name: str = field(default_factory=lambda: f"cart-{uuid4().hex[:8]}")
    customer_email: str = field(default_factory=lambda: f"buyer-{uuid4().hex[:8]}@example.com")

    @property
    def path(self) -> str:
        return path_of(self.name)

    def body(self, *items: Json, **more: Any) -> Json:
        named = {"session_id": self.sale.session_id, "customer_email": self.customer_email}
        return named | {"items": list(items)} | more

    def put(self, *items: Json, key: str | None = None, **more: Any) -> httpx.Response:
        headers = keyed(key) if key else {}
        return self.platform.client.put(self.path, json=self.body(*items, **more), headers=headers)

    def filled(self, *items: Json, status: int = 200, **more: Any) -> Json:
        return ok(self.put(*items, **more), status)

    def new(self, *items: Json, **more: Any) -> Json:
        return self.filled(*items, status=201, **more)

    def get(self) -> httpx.Response:
        return self.platform.client.get(self.path)

    def now(self) -> Json:
        return read(self.platform, self.path)

    def delete(self, key: str | None = None) -> httpx.Response:
        return self.platform.client.delete(self.path, headers=keyed(key) if key else {})

    def renew(self, key: str | None = None, **body: Any) -> httpx.Response:
        headers = keyed(key) if key else {}
        path = f"{self.path}/renew"
        if not body:
            return self.platform.client.post(path, headers=headers)
        return self.platform.client.post(path, json=body, headers=headers)

    def holds(self, status: str) -> list[Json]:
        """This customer's holds, as the list shows them."""
        query = {"status": status, "customer_email": self.customer_email}
        return list(read(self.platform, "/api/holds", **query)["data"])


def assert_held(platform: Platform, cart: Cart, *types: int) -> None:
    """Check the total held of each ticket type."""
    path = f"/api/sessions/{cart.sale.session_id}/availability"
    offered = platform.client.get(path).json()["ticket_types"]
    assert tuple(each["held"] for each in offered) == types


def quantities(hold: Json) -> dict[str, int]:
    counted: dict[str, int] = {}
    for line in hold["lines"]:
        counted[line["cart_item_id"]] = counted.get(line["cart_item_id"], 0) + line["quantity"]
    return counted
