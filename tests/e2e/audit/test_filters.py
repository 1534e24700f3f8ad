"""Every entry can be found by each of its fields, and no entry or log contains personal data."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.e2e.cart_calls import Cart, item
from tests.e2e.owner import Owner
from tests.e2e.paying import checked_out, completed, held, keyed, ok, read
from tests.support.patience import wait_until
from tests.support.platform import Json, Platform, Sale
from tests.support.servers import RunningServer


def found(platform: Platform, **query: Any) -> list[Json]:
    return list(read(platform, "/api/audit", **query)["data"])


class Story:
    """Ann buys, Bob is refused, and a cart of Cy is renewed in vain."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.sale = platform.on_sale(2)
        self.hold = held(platform, self.sale, 2, customer_email="ann@example.com")
        self.order = ok(completed(platform, ok(checked_out(platform, self.hold), 201)), 201)
        refused = platform.place(self.sale, 3, customer_email="bob@example.com", user_id="bob-7")
        assert refused.status_code == 409
        self.refused_request = refused.headers["x-request-id"]
        self.cart = Cart(platform, self.sale)
        assert self.cart.put(item(self.sale, 1)).status_code == 409
        wait_until(lambda: len(found(platform, outcome="refused")) == 2, "both refusals")


@pytest.fixture
def story(platform: Platform) -> Story:
    return Story(platform)


def test_a_refused_attempt_is_found_by_each_of_its_fields(story: Story) -> None:
    platform, sale = story.platform, story.sale
    (entry,) = found(platform, user_id="bob-7")
    assert entry["new"] == {
        "error": "insufficient_inventory",
        "quantity": 3,
        "available_quantity": 0,
    }
    assert entry["ticket_type_ids"] == [sale.ticket_type_id]
    queries: list[dict[str, Any]] = [
        {"customer_email": "bob@example.com"},
        {"customer_email": "BOB@example.com"},
        {"request_id": story.refused_request},
        {"action": "hold.create_failed"},
        {"user_id": "bob-7", "error": "insufficient_inventory", "outcome": "refused"},
        {"user_id": "bob-7", "session_id": sale.session_id, "ip": "127.0.0.1"},
        {"user_id": "bob-7", "user_agent": entry["user_agent"]},
        {"user_id": "bob-7", "actor": entry["actor"], "created_from": entry["created_at"]},
    ]
    for query in queries:
        assert found(platform, **query) == [entry], query
    for by in ("session_id", "event_id", "ticket_type_id"):
        wanted = {
            "session_id": sale.session_id,
            "event_id": read(platform, f"/api/sessions/{sale.session_id}")["event_id"],
            "ticket_type_id": sale.ticket_type_id,
        }[by]
        assert entry in found(platform, **{by: wanted}, outcome="refused"), by
        assert found(platform, **{by: str(uuid4())}) == []
    others: list[dict[str, Any]] = [
        {"user_id": "bob-8"},
        {"user_id": "bob-7", "outcome": "done"},
        {"user_id": "bob-7", "user_agent": "curl/8"},
    ]
    for query in others:
        assert found(platform, **query) == []


def test_a_sale_is_found_by_its_holder_its_order_and_its_session(story: Story) -> None:
    platform = story.platform
    of_hold = found(platform, hold_id=story.hold["hold_id"])
    assert len(of_hold) == 3
    assert found(platform, customer_email="ann@example.com") == of_hold
    assert found(platform, order_id=story.order["order_id"]) == of_hold
    session_id = story.sale.session_id
    assert found(platform, session_id=session_id, action="hold.converted") == of_hold[:1]
    assert all(entry["session_id"] == session_id for entry in of_hold)


def test_a_cart_is_found_by_its_token(story: Story) -> None:
    (entry,) = found(story.platform, cart_token=story.cart.name)
    assert (entry["action"], entry["cart_token"]) == ("cart.fill_failed", story.cart.name)


def test_no_filter_finds_entries_of_another_organization(story: Story, neighbour: Platform) -> None:
    sale = story.sale
    for query in (
        {"customer_email": "ann@example.com"},
        {"user_id": "bob-7"},
        {"hold_id": story.hold["hold_id"]},
        {"order_id": story.order["order_id"]},
        {"session_id": sale.session_id},
        {"cart_token": story.cart.name},
        {"request_id": story.refused_request},
    ):
        assert found(neighbour, **query) == [], query


def test_a_rare_entry_is_found_page_by_page(story: Story) -> None:
    query: dict[str, Any] = {"limit": 1, "session_id": story.sale.session_id}
    pages: list[Json] = []
    cursor: dict[str, str] = {}
    while True:
        page = read(story.platform, "/api/audit", **query, **cursor)
        pages += page["data"]
        if not page["has_more"]:
            break
        cursor = {"cursor": page["next_cursor"]}
    numbers = [entry["entry_id"] for entry in pages]
    assert len(numbers) == len(set(numbers)) >= 5


def test_nothing_personal_is_in_an_entry_or_in_the_log(
    server: RunningServer, platform: Platform
) -> None:
    sale, canary = platform.on_sale(2), f"canary{uuid4().hex}"
    email, user = f"{canary}@example.com", f"user-{canary}"
    holder = {"customer_email": email, "user_id": user}
    _attempts_of(platform, sale, holder, canary)
    owner = Owner(server.database_url)

    def rows() -> list[str]:
        query = "SELECT a::text FROM audit a WHERE organization_id = %s"
        return [text for (text,) in owner.rows(query, platform.organization_id)]

    wait_until(lambda: sum("_failed" in row for row in rows()) >= 5, "the refusals are recorded")
    everything = "\n".join(rows())
    assert canary not in everything
    assert platform.secret_key not in everything
    log = server.log.read_text(encoding="utf-8")
    assert canary not in log
    assert platform.secret_key not in log
    (placed,) = found(platform, user_id=user, action="hold.created")
    assert placed["holder"] in everything.replace("-", "")


def _attempts_of(platform: Platform, sale: Sale, holder: dict[str, str], canary: str) -> None:
    client = platform.client
    body = platform.hold_body(sale, 1, **holder, notes=canary, metadata={"name": canary})
    hold = ok(client.post("/api/holds", json=body), 201)
    refused: list[httpx.Response] = [
        client.post("/api/holds", json={**body, "quantity": 5}),
        client.post("/api/holds", json={**body, "quantity": 0}),
        client.post("/api/holds", json={**body, "notes": 7, canary: canary}),
        client.post("/api/holds", json={**body, "customer_email": f"{canary} at example"}),
        client.post(f"/api/holds/{canary}/release", json={}),
        client.post(
            f"/api/holds/{hold['hold_id']}/extend",
            json={"minutes": 1, "customer_email": f"another-{canary}@example.com"},
        ),
        client.post("/api/holds", json=body, headers=keyed(canary * 20)),
        httpx.post(
            f"{platform.base_url}/api/holds",
            json=body,
            headers={"Authorization": f"Bearer hk_test_{canary}{canary}"},
        ),
    ]
    assert [answer.is_client_error for answer in refused] == [True] * len(refused)
