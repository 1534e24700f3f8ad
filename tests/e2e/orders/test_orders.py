"""Orders of paid holds: one ticket per unit, and the links between them."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from uuid import UUID, uuid4

import pytest

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.orders import reader
from holdfast.domain.ids import OrganizationId
from holdfast.ports.orders import OrderFilter
from holdfast.ports.paging import PageRequest
from tests.e2e.answers import first_error, moment, problem_of
from tests.e2e.halls import build_hall
from tests.e2e.owner import Owner
from tests.e2e.paying import (
    checked_out,
    completed,
    confirmed,
    held,
    hold_now,
    keyed,
    ok,
    post,
    read,
)
from tests.support.platform import Json, Platform, new_platform
from tests.support.servers import RunningServer

TTL_SECONDS = 600
LATE = {"late_payment_seconds": 120}
CODE_LENGTH = 26


def test_a_confirmed_hold_becomes_an_order_with_one_ticket_per_unit(
    platform: Platform, owner: Owner
) -> None:
    sale = platform.on_sale(5, 5)
    lines = [
        {"ticket_type_id": sale.ticket_type_ids[0], "quantity": 2},
        {"ticket_type_id": sale.ticket_type_ids[1], "quantity": 1, "unit_price": 100},
    ]
    body = {"session_id": sale.session_id, "lines": lines, "user_id": "ada"}
    hold = platform.made("/api/holds", body)
    answer = ok(confirmed(platform, hold, payment_reference="pay-1"))
    assert (answer["hold_id"], answer["status"]) == (hold["hold_id"], "converted")
    order = answer["order"]
    assert answer["order_id"] == order["order_id"]
    assert (order["hold_ids"], order.get("checkout_id")) == ([hold["hold_id"]], None)
    assert (order["total"], order["currency"]) == (9100, "EUR")
    assert answer["confirmed_at"] == order["created_at"]
    tickets = order["tickets"]
    assert [ticket["unit_price"] for ticket in tickets] == [4500, 4500, 100]
    assert [ticket["ticket_type_id"] for ticket in tickets] == [
        *([sale.ticket_type_ids[0]] * 2),
        sale.ticket_type_ids[1],
    ]
    assert {ticket["hold_id"] for ticket in tickets} == {hold["hold_id"]}
    codes = {ticket["code"] for ticket in tickets}
    assert len(codes) == 3
    assert all(len(code) == CODE_LENGTH and code.isalnum() for code in codes)
    assert owner.counters(platform.organization_id) == [(5, 0, 2), (5, 0, 1)]


def test_holds_and_orders_link_to_each_other(platform: Platform) -> None:
    sale = platform.on_sale(5)
    hold, other = held(platform, sale, 2), held(platform, sale)
    order = ok(confirmed(platform, hold, payment_reference="pay-1"))["order"]
    ok(confirmed(platform, other, payment_reference="pay-2"))
    assert hold_now(platform, hold)["order_id"] == order["order_id"]
    assert read(platform, f"/api/orders/{order['order_id']}") == order
    assert read(platform, "/api/orders", hold_id=hold["hold_id"])["data"] == [order]
    assert read(platform, "/api/orders", payment_reference="pay-1")["data"] == [order]
    assert read(platform, "/api/orders", payment_reference="pay-3")["data"] == []
    assert read(platform, "/api/orders", hold_id=str(uuid4()))["data"] == []
    both = {"hold_id": hold["hold_id"], "payment_reference": "pay-2"}
    assert read(platform, "/api/orders", **both)["data"] == []


def test_orders_are_listed_newest_first_and_paged(platform: Platform) -> None:
    sale = platform.on_sale(9)
    made = [ok(confirmed(platform, held(platform, sale)))["order"]["order_id"] for _ in range(5)]
    seen: list[str] = []
    query: Json = {"limit": 2}
    while True:
        page = read(platform, "/api/orders", **query)
        seen += [order["order_id"] for order in page["data"]]
        assert len(page["data"]) <= 2
        assert page["has_more"] == (page.get("next_cursor") is not None)
        if not page["has_more"]:
            break
        query["cursor"] = page["next_cursor"]
    assert seen == made[::-1]


def test_a_page_of_orders_is_limited_by_its_tickets(
    platform: Platform, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has at least one order, however many tickets that order has."""
    monkeypatch.setattr(reader, "TICKETS_PER_PAGE_MAX", 4)
    sale = platform.on_sale(20)
    for quantity in (1, 2, 3, 5, 1, 3):
        ok(confirmed(platform, held(platform, sale, quantity)))
    organization_id = OrganizationId(UUID(platform.organization_id))
    pages: list[list[int]] = []
    after = None
    with closing(Database(database_url)) as database:
        database.open()
        while not pages or after is not None:
            request = PageRequest(size=3, after=after)
            page = reader.PostgresOrders(database).orders(organization_id, OrderFilter(), request)
            pages.append([len(order.tickets) for order in page.items])
            after = page.next
    assert pages == [[3, 1], [5], [3], [2, 1]]


def test_tickets_show_attendees_but_no_email_addresses(platform: Platform, owner: Owner) -> None:
    hold = held(platform, platform.on_sale(5), 4)
    attendees = [
        {"name": "Ada Lovelace", "email": "ada@example.com"},
        None,
        {"email": "bob@example.com"},
    ]
    answer = confirmed(platform, hold, attendees=attendees)
    tickets = ok(answer)["order"]["tickets"]
    assert [each.get("attendee_name") for each in tickets] == ["Ada Lovelace", None, None, None]
    assert "@" not in answer.text
    assert "@" not in platform.client.get("/api/orders").text
    rows = owner.rows(
        "SELECT attendee IS NOT NULL, attendee_key IS NOT NULL FROM ticket WHERE hold_id = %s"
        " ORDER BY position",
        hold["hold_id"],
    )
    assert rows == [(True, True), (False, False), (True, True), (False, False)]


def test_more_attendees_than_tickets_are_refused(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5), 2)
    attendees = [{"name": "Ada"}, {"name": "Bob"}, {"name": "Eve"}]
    answer = confirmed(platform, hold, attendees=attendees)
    problem = problem_of(answer, 400, "too_many_attendees")
    assert problem["tickets"] == 2
    assert hold_now(platform, hold)["status"] == "active"


def test_one_order_has_at_most_ten_thousand_tickets(platform: Platform) -> None:
    sale = platform.on_sale(10_000, 10_000)
    most = held(platform, sale, 10_000, user_id="ada", customer_email=None)
    one = held(platform, sale, ticket_type_id=sale.ticket_type_ids[1], user_id="ada")
    problem = problem_of(checked_out(platform, most, one), 400, "too_many_tickets")
    assert problem["maximum"] == 10_000
    lines = [
        {"ticket_type_id": sale.ticket_type_ids[1], "quantity": 9_999},
        {"ticket_type_id": another_type(platform, sale.session_id), "quantity": 2},
    ]
    body = {"session_id": sale.session_id, "lines": lines, "user_id": "bob"}
    problem_of(platform.client.post("/api/holds", json=body), 400, "too_many_tickets")
    order = ok(confirmed(platform, most))["order"]
    assert len({ticket["code"] for ticket in order["tickets"]}) == 10_000
    assert ok(platform.client.get(f"/api/orders/{order['order_id']}")) == order


def another_type(platform: Platform, session_id: str) -> str:
    body = {"session_id": session_id, "name": "Standing", "price": 1, "capacity": 5}
    return str(platform.made("/api/ticket-types", body)["ticket_type_id"])


def test_confirming_again_returns_the_same_order(platform: Platform, owner: Owner) -> None:
    hold = held(platform, platform.on_sale(5))
    first = confirmed(platform, hold, payment_reference="pay-1")
    for body in ({"payment_reference": "pay-1"}, {}):
        again = confirmed(platform, hold, **body)
        assert (again.status_code, again.content) == (200, first.content)
        assert again.headers["idempotent-replayed"] == "true"
    problem = problem_of(confirmed(platform, hold, payment_reference="pay-2"), 409, "already_paid")
    assert problem["order_id"] == first.json()["order_id"]
    assert owner.counters(platform.organization_id) == [(5, 0, 1)]


def test_confirming_needs_no_body(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5))
    answer = platform.client.post(f"/api/holds/{hold['hold_id']}/confirm")
    assert ok(answer)["order"].get("payment_reference") is None
    assert confirmed(platform, hold).content == answer.content


def test_a_double_click_confirms_once(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(50)
    for _ in range(5):
        hold = held(platform, sale, 2)
        with ThreadPoolExecutor(4) as clicks:
            answers = list(clicks.map(lambda _, one=hold: confirmed(platform, one), range(4)))
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.content for answer in answers}) == 1
    assert owner.counters(platform.organization_id) == [(50, 0, 10)]


def test_a_repeated_key_confirms_once_and_replays_byte_for_byte(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5))
    path, key = f"/api/holds/{hold['hold_id']}/confirm", keyed()
    first, again = (post(platform, path, {"payment_reference": "p"}, key) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.content == again.content
    assert again.headers["idempotent-replayed"] == "true"
    problem_of(post(platform, path, {}, key), 422, "idempotency_key_reused")


def test_an_ended_hold_is_not_confirmed(unreaped: Platform, unreaped_owner: Owner) -> None:
    sale = unreaped.on_sale(5)
    lapsed, released = held(unreaped, sale), held(unreaped, sale)
    ok(unreaped.client.post(f"/api/holds/{released['hold_id']}/release"))
    unreaped_owner.let_pass(unreaped.organization_id, TTL_SECONDS + 1)
    problem = problem_of(confirmed(unreaped, lapsed), 409, "hold_expired")
    assert problem["message"] == "The hold has expired"
    problem = problem_of(confirmed(unreaped, released), 409, "invalid_hold_state")
    assert problem["current_status"] == "cancelled"
    assert unreaped.available(sale) == [5]


def test_a_converted_hold_cannot_be_released_extended_or_expired(
    platform: Platform, owner: Owner
) -> None:
    hold = held(platform, platform.on_sale(5))
    ok(confirmed(platform, hold))
    path = f"/api/holds/{hold['hold_id']}"
    for answer in (
        platform.client.post(f"{path}/release"),
        post(platform, f"{path}/extend", {"minutes": 1, "as_operator": True}),
    ):
        problem = problem_of(answer, 409, "invalid_hold_state")
        assert problem["current_status"] == "converted"
    owner.let_pass(platform.organization_id, TTL_SECONDS + 1)
    canary = held(platform, platform.on_sale(1))
    owner.let_pass(platform.organization_id, TTL_SECONDS + 1)
    owner.wait_for_status(canary["hold_id"], "expired")
    assert owner.status(hold["hold_id"]) == "converted"


class TestLatePayment:
    """The payment arrives after the hold expired."""

    def test_a_late_payment_gets_free_places(self, platform: Platform, owner: Owner) -> None:
        """After the reaper has expired the hold."""
        hold = held(platform, platform.on_sale(2, hold_policy=LATE), 2)
        owner.let_pass(platform.organization_id, TTL_SECONDS + 60)
        owner.wait_for_status(hold["hold_id"], "expired")
        self._assert_revived(platform, hold)
        assert owner.counters(platform.organization_id) == [(2, 0, 2)]

    def test_a_late_payment_revives_an_unreaped_hold(
        self, unreaped: Platform, unreaped_owner: Owner
    ) -> None:
        hold = held(unreaped, unreaped.on_sale(2, hold_policy=LATE), 2)
        unreaped_owner.let_pass(unreaped.organization_id, TTL_SECONDS + 60)
        self._assert_revived(unreaped, hold)
        assert unreaped_owner.counters(unreaped.organization_id) == [(2, 0, 2)]

    def _assert_revived(self, platform: Platform, hold: Json) -> None:
        first = confirmed(platform, hold, payment_reference="pay-1")
        answer = ok(first)
        assert answer["hold_id"] != hold["hold_id"]
        assert (answer["replaces_hold_id"], answer["status"]) == (hold["hold_id"], "converted")
        assert answer["order"]["hold_ids"] == [answer["hold_id"]]
        assert answer["order"]["total"] == hold["total"]
        old = hold_now(platform, hold)
        assert (old["status"], old.get("order_id")) == ("expired", None)
        # Repeating the payment with the old hold finds the same order.
        again = confirmed(platform, hold, payment_reference="pay-1")
        assert (again.status_code, again.content) == (200, first.content)
        problem_of(confirmed(platform, hold, payment_reference="pay-2"), 409, "already_paid")
        (listed,) = read(platform, "/api/orders", hold_id=hold["hold_id"])["data"]
        assert listed == answer["order"]

    def test_it_completes_a_checkout(self, unreaped: Platform, unreaped_owner: Owner) -> None:
        sale = unreaped.on_sale(5, hold_policy=LATE)
        holds = [held(unreaped, sale, user_id="ada") for _ in range(2)]
        checkout = ok(checked_out(unreaped, *holds), 201)
        unreaped_owner.let_pass(unreaped.organization_id, TTL_SECONDS + 300 + 60)
        first = completed(unreaped, checkout)
        order = ok(first, 201)
        again = completed(unreaped, checkout)
        assert (again.status_code, again.content) == (200, first.content)
        seen = read(unreaped, f"/api/checkouts/{checkout['checkout_id']}")
        assert seen["order_id"] == order["order_id"]
        assert [hold["replaces_hold_id"] for hold in seen["holds"]] == [
            hold["hold_id"] for hold in holds
        ]

    @pytest.mark.parametrize(
        ("policy", "late_seconds"), [({}, 1), (LATE, 121), ({"late_payment_seconds": 0}, 1)]
    )
    def test_a_payment_after_the_grace_period_is_refused(
        self,
        unreaped: Platform,
        unreaped_owner: Owner,
        policy: dict[str, int],
        late_seconds: int,
    ) -> None:
        sale = unreaped.on_sale(5, hold_policy=policy)
        hold = held(unreaped, sale)
        unreaped_owner.let_pass(unreaped.organization_id, TTL_SECONDS + late_seconds)
        problem = problem_of(confirmed(unreaped, hold), 409, "hold_expired")
        assert problem["lapsed_hold_ids"] == [hold["hold_id"]]
        assert unreaped.available(sale) == [5]

    def test_it_takes_nobodys_place(self, unreaped: Platform, unreaped_owner: Owner) -> None:
        sale = unreaped.on_sale(2, hold_policy=LATE)
        late = held(unreaped, sale, 2)
        unreaped_owner.let_pass(unreaped.organization_id, TTL_SECONDS + 10)
        next_one = held(unreaped, sale)
        problem_of(confirmed(unreaped, late), 409, "hold_expired")
        assert hold_now(unreaped, next_one)["status"] == "active"
        ok(confirmed(unreaped, next_one))
        assert unreaped_owner.counters(unreaped.organization_id) == [(2, 0, 1)]

    def test_it_takes_nobodys_seat(self, unreaped: Platform, unreaped_owner: Owner) -> None:
        hall = build_hall(unreaped, ticket_type={"hold_policy": LATE})
        late = ok(hall.hold("Stalls A 1", "Stalls A 2"), 201)
        lucky = ok(hall.hold("Stalls B 1"), 201)
        unreaped_owner.let_pass(unreaped.organization_id, TTL_SECONDS + 10)
        ok(hall.hold("Stalls A 2"), 201)
        problem_of(confirmed(unreaped, late), 409, "hold_expired")
        assert hall.status("Stalls A 1") == "available"
        answer = ok(confirmed(unreaped, lucky))
        assert answer["seat_ids"] == lucky["seat_ids"]
        assert hall.status("Stalls B 1") == "sold"


def test_orders_of_another_organization_are_not_found(
    platform: Platform, neighbour: Platform
) -> None:
    hold = held(platform, platform.on_sale(5))
    problem_of(confirmed(neighbour, hold), 404, "hold_not_found")
    order = ok(confirmed(platform, hold, payment_reference="pay-1"))["order"]
    foreign = neighbour.client.get(f"/api/orders/{order['order_id']}")
    problem_of(foreign, 404, "order_not_found")
    assert read(neighbour, "/api/orders")["data"] == []
    assert read(neighbour, "/api/orders", hold_id=hold["hold_id"])["data"] == []
    assert read(neighbour, "/api/orders", payment_reference="pay-1")["data"] == []


def test_a_key_for_holds_cannot_read_orders(server: RunningServer) -> None:
    scopes = ("holds:read", "holds:write", "catalog:read", "catalog:write")
    clerk = new_platform(server.base_url, server.database_url, scopes)
    order = ok(confirmed(clerk, held(clerk, clerk.on_sale(5))))["order"]
    for path in ("/api/orders", f"/api/orders/{order['order_id']}"):
        problem_of(clerk.client.get(path), 403, "insufficient_scope")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"hold_id": "x"}, "hold_id"),
        ({"payment_reference": ""}, "payment_reference"),
        ({"payment_reference": "x" * 256}, "payment_reference"),
        ({"limit": "0"}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"order": "x"}, "query"),
    ],
)
def test_a_bad_query_parameter_is_named(
    platform: Platform, query: dict[str, str], field: str
) -> None:
    assert first_error(platform.client.get("/api/orders", params=query))[0] == field


@pytest.mark.parametrize("order_id", [pytest.param(str(uuid4()), id="unknown"), "nothing"])
def test_an_unknown_order_is_not_found(platform: Platform, order_id: str) -> None:
    problem_of(platform.client.get(f"/api/orders/{order_id}"), 404, "order_not_found")


def test_without_the_demo_provider_there_are_no_demo_payments(platform: Platform) -> None:
    body = {"amount": 4500, "currency": "EUR"}
    problem_of(post(platform, "/api/demo/payments", body), 404, "not_found")
    paths = platform.client.get("/api/schema").json()["paths"]
    assert not [path for path in paths if "demo" in path]


def test_the_timestamps_of_a_paid_hold_are_in_order(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5))
    answer = ok(confirmed(platform, hold))
    assert moment(answer["created_at"]) <= moment(answer["confirmed_at"])
    assert moment(answer["confirmed_at"]) < moment(answer["expires_at"])
