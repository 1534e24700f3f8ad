"""An organization that has one of everything, with values that occur nowhere else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any
from uuid import uuid4

import psycopg

from holdfast.entrypoints.api.openapi import example_values as example
from tests.support.people import add_staff
from tests.support.platform import Json, Platform

# Every value of the documentation's example sale, and the field of a tenant that stands for it.
EXAMPLES: Mapping[str, str] = {
    str(value): name
    for name, value in (
        ("organization_id", example.ORGANIZATION),
        ("event_id", example.EVENT),
        ("session_id", example.SESSION),
        ("ticket_type_id", example.TYPE),
        ("seated_type_id", example.SEATED_TYPE),
        ("pool_id", example.POOL),
        ("block_id", example.BLOCK),
        ("hold_id", example.HOLD),
        ("checkout_id", example.CHECKOUT),
        ("order_id", example.ORDER),
        *(("ticket_id", ticket) for ticket in example.TICKETS),
        ("key_id", example.KEY),
        ("member_id", example.MEMBER),
        ("cart_token", example.CART),
        ("customer_email", example.EMAIL),
        *(("seat_id", seat) for seat in example.SEATS),
    )
}


@dataclass(frozen=True)
class Purchases:
    """What one holder has. Only that holder and the organization may know of it."""

    user_id: str
    customer_email: str
    ids: Mapping[str, tuple[str, ...]]

    @property
    def private(self) -> tuple[str, ...]:
        """Ids of rows."""
        names = ("hold_id", "checkout_id", "order_id")
        return tuple(value for name in names for value in self.ids[name])


@dataclass(frozen=True)
class Tenant:
    platform: Platform
    tag: str
    ids: Mapping[str, tuple[str, ...]]
    buyer: Purchases
    other_buyer: Purchases

    @property
    def organization_id(self) -> str:
        return self.platform.organization_id

    def own(self, buyer: Purchases | None = None) -> dict[str, tuple[str, ...]]:
        return {**self.ids, **(buyer or self.buyer).ids}


@dataclass(frozen=True)
class _Catalog:
    event_id: str
    session_id: str
    pool_id: str
    ticket_type_id: str
    seated_type_id: str
    block_id: str
    seat_ids: tuple[str, ...]


_DAY = 24 * 3600
# Nothing may expire during the test.
_POLICY = {"ttl_seconds": _DAY, "lifetime_max_seconds": 2 * _DAY}
SEATS = 12


def new_tenant(platform: Platform, owner_url: str) -> Tenant:
    tag = uuid4().hex[:10]
    catalog = _catalog(platform, tag)
    seats = iter(catalog.seat_ids)
    buyer = _purchases(platform, catalog, f"buyer{tag}", list(islice(seats, 3)))
    other = _purchases(platform, catalog, f"other{tag}", list(islice(seats, 3)))
    blocked = next(seats)
    _ok(
        platform.client.post(
            f"/api/sessions/{catalog.session_id}/seats/block",
            json={"seat_ids": [blocked], "reason": f"reason{tag}"},
        )
    )
    draft = platform.made(
        "/api/events", {"name": f"draft{tag}", "currency": "EUR", "status": "draft"}
    )
    member = add_staff(owner_url, platform.organization_id, "owner")
    key = platform.made("/api/keys", {"name": f"key{tag}", "scopes": ["read"]})
    change = {"name": f"organization{tag}", "mail_footer": f"footer{tag}"}
    _ok(platform.client.patch("/api/organization", json=change))
    ids = {
        "organization_id": (platform.organization_id,),
        "event_id": (catalog.event_id, draft["event_id"]),
        "session_id": (catalog.session_id,),
        "pool_id": (catalog.pool_id,),
        "ticket_type_id": (catalog.ticket_type_id, catalog.seated_type_id),
        "seated_type_id": (catalog.seated_type_id,),
        "block_id": (catalog.block_id,),
        "seat_id": (*list(seats)[-3:], blocked, catalog.seat_ids[0]),
        "catalog_id": (catalog.event_id, catalog.session_id),
        "key_id": (key["key_id"],),
        "member_id": (member.member_id,),
        "username": (member.username,),
        "email": (f"{member.username}@{tag}.example",),
        "actor": (f"key:{key['key_id']}",),
        "acting_user": (f"clerk{tag}",),
        "request_id": (f"request{tag}",),
    }
    return Tenant(platform, tag, ids, buyer, other)


def _ok(answer: Any) -> Json:
    assert answer.status_code in {200, 201}, answer.text
    return dict(answer.json())


def _catalog(platform: Platform, tag: str) -> _Catalog:
    made = platform.made
    event = made("/api/events", {"name": f"event{tag}", "currency": "EUR", "hold_policy": _POLICY})[
        "event_id"
    ]
    session = made("/api/sessions", {"event_id": event, "name": f"session{tag}"})["session_id"]
    on_sale = {"session_id": session}
    pool = made("/api/pools", on_sale | {"name": f"pool{tag}", "capacity": 98_731})["pool_id"]
    floor, chair = (
        made("/api/ticket-types", on_sale | {"price": 45_817} | given)["ticket_type_id"]
        for given in (
            {"name": f"floor{tag}", "pool_ids": [pool]},
            {"name": f"chair{tag}", "is_seated": True},
        )
    )
    block = {"name": f"block{tag}", "rows": ["A"], "seats_per_row": SEATS}
    seats = f"/api/sessions/{session}/seats"
    (added,) = made(seats, {"blocks": [block]})["blocks"]
    (drawn,) = platform.client.get(seats).json()["blocks"]
    seat_ids = tuple(
        row["seat_id_prefix"] + each for row in drawn["rows"] for each in row["seat_id_suffixes"]
    )
    return _Catalog(event, session, pool, floor, chair, added["block_id"], seat_ids)


def _purchases(platform: Platform, catalog: _Catalog, user: str, seats: list[str]) -> Purchases:
    """A hold of a ticket, one of a seat, a released one, a cart, a checkout and an order."""
    holder = {"user_id": user, "customer_email": f"{user}@canary.example"}
    headers = {
        "Idempotency-Key": f"retry-{user}",
        "X-Request-ID": f"request-{user[::-1]}",  # logged, unlike the user
        "X-Acting-User": f"clerk-{user}",
    }

    def held(**asked: Any) -> Json:
        body = {"session_id": catalog.session_id, **holder, **asked}
        return _ok(platform.client.post("/api/holds", json=body))

    floor: Json = {
        "ticket_type_id": catalog.ticket_type_id,
        "quantity": 1,
        "notes": f"notes-{user}",
    }
    body = {"session_id": catalog.session_id, **holder, **floor}
    first = _ok(platform.client.post("/api/holds", json=body, headers=headers))
    seat = held(seat_ids=seats[:1])
    gone, paying, paid = (held(**floor) for _ in range(3))
    _ok(platform.client.post(f"/api/holds/{gone['hold_id']}/release"))
    cart = {"session_id": catalog.session_id, **holder}
    item = {"cart_item_id": f"item-{user}", "seat_ids": seats[1:2]}
    in_cart = _ok(
        platform.client.put(f"/api/carts/cart-{user}/hold", json=cart | {"items": [item]})
    )
    checkout = platform.made("/api/checkouts", {"hold_ids": [paying["hold_id"]]})
    order = _ok(
        platform.client.post(
            f"/api/holds/{paid['hold_id']}/confirm",
            json={
                "payment_reference": f"payment-{user}",
                "attendees": [{"name": f"guest-{user}", "email": f"guest-{user}@canary.example"}],
            },
        )
    )
    holds = (first, seat, gone, paying, paid, in_cart)
    return Purchases(
        user,
        holder["customer_email"],
        {
            "hold_id": tuple(each["hold_id"] for each in holds),
            "reference": (first["reference"],),
            "checkout_id": (checkout["checkout_id"],),
            "order_id": (order["order_id"],),
            "ticket_id": tuple(each["ticket_id"] for each in order["order"]["tickets"]),
            "ticket_code": tuple(each["code"] for each in order["order"]["tickets"]),
            "refund_reference": (f"refund-{user}",),
            "cart_token": (f"cart-{user}",),
            "cart_item_id": (f"item-{user}",),
            "payment_reference": (f"payment-{user}",),
            "user_id": (user,),
            "customer_email": (holder["customer_email"],),
            "idempotency-key": (f"retry-{user}",),
            "request_id": (headers["X-Request-ID"],),
            "acting_user": (f"clerk-{user}",),
        },
    )


def retry_keys(tenant: Tenant, count: int) -> tuple[str, ...]:
    """Idempotency keys that the tenant has used, each good for one attempt: what others send with
    it is recorded as theirs."""
    keys = tuple(f"retry-{uuid4().hex}" for _ in range(count))
    path, change = f"/api/events/{tenant.ids['event_id'][0]}", {"name": f"event{tenant.tag}"}
    for key in keys:
        headers = {"Idempotency-Key": key}
        _ok(tenant.platform.client.patch(path, json=change, headers=headers))
    return (*tenant.buyer.ids["idempotency-key"], *keys)


def live_side(platform: Platform, owner_url: str, secret_hash: bytes) -> str:
    """The live organization of this one, with one key. The id of the organization."""
    with psycopg.connect(owner_url) as owner:
        row = owner.execute(
            "INSERT INTO api_key (organization_id, id, name, prefix, secret_hash, scopes)"
            " SELECT live.id, gen_random_uuid(), 'live', 'hk_live_', %s, k.scopes"
            " FROM organization test JOIN organization live USING (account_id)"
            " JOIN api_key k ON k.organization_id = test.id"
            " WHERE test.id = %s AND live.mode = 'live' LIMIT 1 RETURNING organization_id",
            [secret_hash, platform.organization_id],
        ).fetchone()
    assert row is not None
    return str(row[0])


def substituted(given: Any, ids: Mapping[str, Sequence[str]]) -> Any:
    """An example of the documentation with a tenant's values."""
    seats = cycle(ids["seat_id"])

    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: replaced(each) for name, each in value.items()}
        if isinstance(value, list):
            return [replaced(each) for each in value]
        name = EXAMPLES.get(value) if isinstance(value, str) else None
        if name is None:
            return value
        return next(seats) if name == "seat_id" else ids[name][0]

    return replaced(given)
