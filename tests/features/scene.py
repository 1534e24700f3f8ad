"""The state of a scenario."""

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

from tests.e2e.cart_calls import Cart
from tests.e2e.owner import Owner
from tests.support.platform import Json, Platform, Sale, new_platform
from tests.support.servers import RunningServer

CAPACITY = 10

STATUS_OF_ERROR = {
    "insufficient_inventory": 409,
    "invalid_email": 400,
    "invalid_quantity": 400,
    "not_with_remote_inventory": 400,
    "invalid_session": 400,
    "invalid_ticket_type": 400,
    "hold_not_found": 404,
    "session_not_found": 404,
    "hold_expired": 409,
    "invalid_hold_state": 409,
    "cart_of_another_holder": 409,
    "waiting_places_exceeded": 409,
    "extension_limit_reached": 409,
    "expired_before_checkout": 409,
    "already_paid": 409,
    "order_already_cancelled": 409,
    "ticket_already_void": 409,
    "empty_cart": 400,
    "idempotency_key_reused": 422,
    "event_not_available": 400,
    "event_unavailable": 400,
    "event_sales_closed": 400,
    "invalid_seat": 400,
    "event_not_found": 404,
    "seat_not_found": 404,
    "seat_held_by_another_user": 409,
    "seat_not_available": 409,
    "block_at_capacity": 409,
    "no_available_seats": 409,
    "active_hold_exists": 409,
    "holder_limit_reached": 409,
    "holder_cooldown": 429,
    "scope_not_held": 403,
    "rate_limit_exceeded": 429,
    "secret_key_required": 403,
    "holder_from_token": 400,
    "anonymous_holders_off": 400,
    "unauthorized": 401,
    "too_many_requests": 429,
    "last_owner": 409,
    "holds_still_open": 409,
    "invalid_acting_user": 400,
    "service_unavailable": 503,
}


@dataclass(frozen=True)
class Sent:
    path: str
    body: Json | None
    headers: dict[str, str]
    method: str = "POST"


@dataclass
class Scene:
    """One platform and its sale, all requests that change something, and all answers."""

    platform: Platform
    owner: Owner
    sale: Sale = field(init=False, repr=False)
    capacity: int = CAPACITY
    hold: Json = field(default_factory=dict)
    holds: list[Json] = field(default_factory=list)
    ticket_types: dict[str, str] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    answers: list[httpx.Response] = field(default_factory=list)
    other: Platform = field(init=False, repr=False)
    cart: Cart = field(init=False, repr=False)

    @property
    def answer(self) -> httpx.Response:
        return self.answers[-1]

    def put_on_sale(self, capacity: int = CAPACITY, **ticket_type: Any) -> None:
        self.sale = self.platform.on_sale(capacity, **ticket_type)
        self.capacity = capacity
        self.cart = Cart(self.platform, self.sale)

    def body(self, quantity: int, **more: Any) -> Json:
        return self.platform.hold_body(self.sale, quantity, **more)

    def send(
        self, path: str, body: Json | None = None, headers: dict[str, str] | None = None
    ) -> None:
        self.repeat(Sent(path, body, headers or {}))

    def repeat(self, sent: Sent) -> None:
        self.sent.append(sent)
        self.answers.append(self.post(sent))
        if sent.path == "/api/holds" and self.answer.status_code == 201:
            self.hold = self.answer.json()

    def post(self, sent: Sent) -> httpx.Response:
        return self.platform.client.request(
            sent.method, sent.path, json=sent.body, headers=sent.headers
        )

    def place(self, quantity: int, **more: Any) -> None:
        self.send("/api/holds", self.body(quantity, **more))

    def read(self, hold_id: str) -> httpx.Response:
        return self.platform.client.get(f"/api/holds/{hold_id}")

    def held(self) -> int:
        """The number of held places according to the API; checks the pools' counters too."""
        path = f"/api/sessions/{self.sale.session_id}/availability"
        held = sum(
            offered["held"] for offered in self.platform.client.get(path).json()["ticket_types"]
        )
        self.owner.assert_counters_add_up(self.platform.organization_id)
        return int(held)

    def available(self) -> int:
        return sum(self.platform.available(self.sale))


def scene_on(server: RunningServer) -> Scene:
    platform = new_platform(server.base_url, server.database_url)
    return Scene(platform, Owner(server.database_url))


def new_key() -> str:
    return uuid4().hex
