"""Lists filtered by what people know: event, date, buyer, reference."""

from typing import Any

import pytest

from tests.e2e.answers import first_error, placed
from tests.e2e.paying import checked_out, completed, confirmed, held, ok, read
from tests.support.platform import Json, Platform, Sale, sent

EARLIER, NEW_YEAR, LATER = "2026-12-30T20:00:00Z", "2027-01-01T20:00:00Z", "2027-06-01T20:00:00Z"


def found(platform: Platform, kind: str, **filters: Any) -> list[str]:
    """The ids on all pages of a list, read two at a time."""
    own_id = kind.removesuffix("s").replace("-", "_") + "_id"
    ids: list[str] = []
    query: Json = {"limit": 2, **filters}
    while True:
        page = read(platform, f"/api/{kind}", **query)
        ids += [each[own_id] for each in page["data"]]
        if not page["has_more"]:
            return ids
        query["cursor"] = page["next_cursor"]


def second_session(platform: Platform, sale: Sale) -> Sale:
    """Another session of the same event."""
    session = platform.made("/api/sessions", {"event_id": sale.event_id, "name": "Saturday"})
    body = {"session_id": session["session_id"], "name": "Seat", "price": 4500, "capacity": 9}
    ticket_type = platform.made("/api/ticket-types", body)
    return Sale(sale.event_id, session["session_id"], (ticket_type["ticket_type_id"],))


class TestHolds:
    def test_holds_of_an_event_span_its_sessions_newest_first(self, platform: Platform) -> None:
        friday, other = platform.on_sale(9), platform.on_sale(9)
        saturday = second_session(platform, friday)
        holds = [held(platform, sale)["hold_id"] for sale in (friday, saturday, friday, other)]
        ok(platform.client.delete(f"/api/holds/{holds[0]}"))
        assert found(platform, "holds", event_id=friday.event_id) == holds[2::-1]
        of_friday = {"event_id": friday.event_id, "session_id": friday.session_id}
        assert found(platform, "holds", **of_friday) == [holds[2], holds[0]]
        assert found(platform, "holds", event_id=friday.event_id, status="active") == holds[2:0:-1]
        by_expiry = found(platform, "holds", event_id=friday.event_id, order="expiry")
        assert sorted(by_expiry) == sorted(holds[1:3])
        assert found(platform, "holds", event_id=friday.event_id, lapsed=True) == []
        assert found(platform, "holds", event_id=friday.session_id) == []

    def test_holds_are_filtered_by_time(self, platform: Platform) -> None:
        sale = platform.on_sale(9)
        first, second, third = (held(platform, sale, user_id="ada") for _ in range(3))
        since = {"created_from": second["created_at"]}
        assert found(platform, "holds", **since) == [third["hold_id"], second["hold_id"]]
        before = {"created_before": second["created_at"]}
        assert found(platform, "holds", **before) == [first["hold_id"]]
        assert found(platform, "holds", **since, **before) == []
        of_all = {"user_id": "ada", "event_id": sale.event_id, "session_id": sale.session_id}
        assert found(platform, "holds", **of_all, **before) == [first["hold_id"]]


class TestOrders:
    def test_orders_of_an_event_or_session_are_those_with_a_ticket_for_it(
        self, platform: Platform
    ) -> None:
        friday, other = platform.on_sale(9), platform.on_sale(9)
        saturday = second_session(platform, friday)
        whose: Json = {"user_id": "ada", "customer_email": "ada@example.com"}
        mixed = [held(platform, sale, **whose) for sale in (friday, friday, saturday)]
        checkout = ok(checked_out(platform, *mixed), 201)
        both = ok(completed(platform, checkout), 201)["order_id"]
        alone = ok(confirmed(platform, held(platform, friday)))["order_id"]
        elsewhere = ok(confirmed(platform, held(platform, other)))["order_id"]
        assert found(platform, "orders", event_id=friday.event_id) == [alone, both]
        assert found(platform, "orders", session_id=friday.session_id) == [alone, both]
        assert found(platform, "orders", session_id=saturday.session_id) == [both]
        of_both = {"event_id": friday.event_id, "session_id": saturday.session_id}
        assert found(platform, "orders", **of_both) == [both]
        assert found(platform, "orders", event_id=other.event_id) == [elsewhere]
        narrowed = {"event_id": friday.event_id, "payment_reference": "pay-1", "user_id": "ada"}
        assert found(platform, "orders", **narrowed) == [both]
        of_hold = {"session_id": friday.session_id, "hold_id": mixed[2]["hold_id"]}
        assert found(platform, "orders", **of_hold) == [both], "its order has a ticket for Friday"

    def test_orders_of_a_customer_are_found_in_any_case(
        self, platform: Platform, neighbour: Platform
    ) -> None:
        sale, foreign = platform.on_sale(9), neighbour.on_sale(9)
        ada: Json = {"customer_email": "Ada@Example.com", "user_id": "ada"}
        orders = [
            ok(confirmed(platform, held(platform, sale, **ada)))["order_id"] for _ in range(3)
        ]
        ok(confirmed(platform, held(platform, sale, user_id="bob")))
        ok(confirmed(neighbour, held(neighbour, foreign, **ada)))
        assert found(platform, "orders", customer_email="ada@example.COM") == orders[::-1]
        assert found(platform, "orders", user_id="ada") == orders[::-1]
        assert found(platform, "orders", user_id="ada", session_id=sale.session_id) == orders[::-1]
        assert found(platform, "orders", user_id="nobody") == []

    def test_orders_are_filtered_by_reference_and_time(self, platform: Platform) -> None:
        sale = platform.on_sale(9)
        holds = [held(platform, sale) for _ in range(3)]
        first, second, third = (ok(confirmed(platform, hold))["order"] for hold in holds)
        reference = {"reference": holds[1]["reference"].lower()}
        assert found(platform, "orders", **reference) == [second["order_id"]]
        assert found(platform, "orders", **reference, hold_id=holds[0]["hold_id"]) == []
        assert found(platform, "orders", reference="NOBODY") == []
        since = {"created_from": second["created_at"]}
        assert found(platform, "orders", **since) == [third["order_id"], second["order_id"]]
        before = {"created_before": second["created_at"], "event_id": sale.event_id}
        assert found(platform, "orders", **before) == [first["order_id"]]


class TestCatalog:
    def event(self, platform: Platform, status: str, *starts: str) -> tuple[str, list[str]]:
        body = {"name": "Concert", "currency": "EUR", "status": status}
        event_id = platform.made("/api/events", body)["event_id"]
        sessions = [
            platform.made(
                "/api/sessions", {"event_id": event_id, "name": start, "starts_at": start}
            )["session_id"]
            for start in starts
        ]
        return event_id, sessions

    def test_events_and_sessions_are_filtered_by_status(self, platform: Platform) -> None:
        draft, of_draft = self.event(platform, "draft", EARLIER)
        published, of_published = self.event(platform, "published", NEW_YEAR, LATER)
        assert found(platform, "events", status="draft") == [draft]
        assert found(platform, "events", status="published") == [published]
        assert found(platform, "events", status="live") == []
        assert found(platform, "sessions", event_status="draft") == of_draft
        assert found(platform, "sessions", event_status="published") == of_published[::-1]

    def test_events_and_sessions_are_filtered_by_date(self, platform: Platform) -> None:
        early, (first,) = self.event(platform, "published", EARLIER)
        both, (second, third) = self.event(platform, "published", NEW_YEAR, LATER)
        undated, (fourth,) = (
            self.event(platform, "published")[0],
            [platform.made("/api/sessions", {"event_id": early, "name": "Undated"})["session_id"]],
        )
        new_year = {"starts_from": NEW_YEAR, "starts_before": LATER}
        assert found(platform, "sessions", **new_year) == [second]
        assert found(platform, "events", **new_year) == [both]
        assert found(platform, "sessions", starts_before=NEW_YEAR) == [first]
        assert found(platform, "events", starts_from=EARLIER) == [both, early]
        assert found(platform, "sessions", event_id=early) == [fourth, first]
        # Between its two sessions, when there is no session.
        between = {"starts_from": "2027-02-01T00:00:00Z", "starts_before": "2027-03-01T00:00:00Z"}
        assert found(platform, "events", **between) == []
        assert undated in found(platform, "events")
        assert third in found(platform, "sessions", starts_from=LATER, event_id=both)

    def test_the_catalog_is_filtered_by_creation_time(self, platform: Platform) -> None:
        sales = [platform.on_sale(1) for _ in range(3)]
        for kind, ids in (
            ("events", [sale.event_id for sale in sales]),
            ("sessions", [sale.session_id for sale in sales]),
        ):
            at = read(platform, f"/api/{kind}/{ids[1]}")["created_at"]
            assert found(platform, kind, created_from=at) == ids[:0:-1]
            assert found(platform, kind, created_before=at) == ids[:1]


@pytest.mark.parametrize(
    ("kind", "query", "field", "code"),
    [
        ("holds", {"event_id": "x"}, "event_id", "invalid_value"),
        ("holds", {"created_from": "yesterday"}, "created_from", "invalid_value"),
        ("orders", {"session_id": "x"}, "session_id", "invalid_value"),
        ("orders", {"customer_email": "x"}, "customer_email", "invalid_email"),
        ("orders", {"user_id": ""}, "user_id", "invalid_user_id"),
        ("orders", {"reference": "x" * 21}, "reference", "invalid_value"),
        ("orders", {"created_before": "2027-13-01T00:00:00Z"}, "created_before", "invalid_value"),
        ("orders", {"email": "ada@example.com"}, "query", "unknown_field"),
        ("events", {"status": "open"}, "status", "invalid_value"),
        ("events", {"starts_from": "2027-01-01"}, "starts_from", "invalid_value"),
        ("sessions", {"event_status": "open"}, "event_status", "invalid_value"),
        ("sessions", {"status": "live"}, "query", "unknown_field"),
    ],
)
def test_an_invalid_filter_is_refused(
    platform: Platform, kind: str, query: Json, field: str, code: str
) -> None:
    assert first_error(platform.client.get(f"/api/{kind}", **sent(**query))) == (field, code)


def test_filters_hide_rows_of_other_organizations(platform: Platform, neighbour: Platform) -> None:
    sale = neighbour.on_sale(5)
    hold = placed(neighbour.place(sale, user_id="ada"))
    ok(confirmed(neighbour, hold))
    for kind in ("holds", "orders"):
        for query in (
            {"event_id": sale.event_id},
            {"session_id": sale.session_id},
            {"user_id": "ada"},
            {"reference": hold["reference"]},
        ):
            assert found(platform, kind, **query) == []
            assert len(found(neighbour, kind, **query)) == 1
