"""Waitlists and carts in the admin pages."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from uuid_utils.compat import uuid7

from tests.pages.sales import EMAIL, Sale, insert, list_of, page

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def waiting(sale: Sale, line_id: UUID, minutes: int, **values: Any) -> str:
    """Insert a party that joined this many minutes after noon, and return its reference."""
    reference = uuid4().hex[:8].upper()
    hold_id = sale.place(reference=reference, status="waiting", held_at=None, **values)
    insert(
        sale.owner,
        "waiting_place",
        organization_id=sale.organization_id,
        hold_id=hold_id,
        session_id=sale.session_id,
        line_id=line_id,
        since=NOON + timedelta(minutes=minutes),
        passes_seen=1,
    )
    return reference


def line(sale: Sale, *wants: UUID, count: int, passes: int = 1) -> UUID:
    # Not on sale yet, so that the promoter of another test's server does not serve them.
    sale.owner.execute(
        "UPDATE event SET sale_starts_at = now() + interval '1 day' WHERE organization_id = %s",
        [sale.organization_id],
    )
    line_id = uuid4()
    insert(
        sale.owner,
        "waiting_line",
        organization_id=sale.organization_id,
        session_id=sale.session_id,
        id=line_id,
        wants=list(wants),
        waiting=count,
        passes=passes,
        served=7,
        opened_at=NOON,
    )
    return line_id


def hold_id_of(sale: Sale, reference: str) -> UUID:
    found = sale.owner.execute("SELECT id FROM hold WHERE reference = %s", [reference]).fetchone()
    assert found is not None
    return UUID(str(found[0]))


def in_order(text: str, *names: str) -> bool:
    places = [text.index(name) for name in names]
    return places == sorted(places)


@pytest.mark.usefixtures("engine")
def test_a_waitlist_shows_its_parties_in_order(operator: Client, sale: Sale) -> None:
    floor = line(sale, sale.pool_id, count=3, passes=5)
    stalls = line(sale, sale.block_id, count=1)
    third, first, second = (waiting(sale, floor, minutes) for minutes in (30, 1, 20))
    alone = waiting(sale, stalls, 10)
    text = page(operator, f"waitlist/{sale.session_id}/change/")
    assert in_order(text, "For Floor", first, second, third)
    assert in_order(text, "For Stalls", alone)
    assert "2026-05-01 12:20:00" in text
    assert "7 served" in text
    assert EMAIL not in text
    assert "b***@example.com" in text
    passed = text[text.index(first) : text.index("Parties in the order of arrival")]
    assert "Overtaken 4 times." in passed


def test_only_sessions_with_waiting_parties_are_listed(operator: Client, sale: Sale) -> None:
    assert str(sale.session_id) not in list_of(operator, "waitlist", sale)
    waiting(sale, line(sale, sale.pool_id, count=1), 1)
    listed = list_of(operator, "waitlist", sale)
    assert f"/admin/holdfast/waitlist/{sale.session_id}/change/" in listed
    assert "unsettled" not in listed

    def is_shown() -> bool:
        sale.owner.execute(
            "UPDATE waitlist SET is_settled = false WHERE session_id = %s", [sale.session_id]
        )
        return "unsettled" in list_of(operator, "waitlist", sale)

    # The shared server's promoter may settle it before the page is read.
    assert any(is_shown() for _ in range(20))


def test_an_empty_waitlist_says_so(operator: Client, sale: Sale) -> None:
    assert "The waitlist is empty." in page(operator, f"waitlist/{sale.session_id}/change/")
    address = f"/admin/holdfast/waitlist/{sale.session_id}/change/"
    assert address in page(operator, f"session/{sale.session_id}/change/")


def test_a_waitlist_cannot_be_changed(operator: Client, sale: Sale) -> None:
    for path in ("add/", f"{sale.session_id}/change/", f"{sale.session_id}/delete/"):
        answer = operator.post(f"/admin/holdfast/waitlist/{path}", {"is_settled": "on"})
        assert answer.status_code == 403, path


def test_a_waiting_hold_shows_its_position(operator: Client, sale: Sale) -> None:
    """It counts everybody who joined earlier for any of the same pools or blocks."""
    both = line(sale, sale.pool_id, sale.block_id, count=1)
    floor = line(sale, sale.pool_id, count=2)
    stalls = line(sale, sale.block_id, count=1)
    waiting(sale, floor, 1)
    waiting(sale, both, 2)
    waiting(sale, stalls, 3)
    last = hold_id_of(sale, waiting(sale, floor, 4))
    text = page(operator, f"hold/{last}/change/")
    assert _field(text, "Position", "Waitlist") == "3"
    assert f"/admin/holdfast/waitlist/{sale.session_id}/change/" in text
    listed = words_of(list_of(operator, "hold", sale, status="waiting"))
    assert sorted(re.findall(r"waiting position (\d+)", listed)) == ["1", "2", "2", "3"]


def test_a_waitlist_entry_expires_like_a_hold(operator: Client, sale: Sale) -> None:
    floor = line(sale, sale.pool_id, count=2)
    lapsed = waiting(sale, floor, 1, expires_in=-1)
    live = waiting(sale, floor, 2)
    listed = list_of(operator, "hold", sale, status="waiting")
    assert (lapsed in listed, live in listed) == (False, True)
    expired = list_of(operator, "hold", sale, status="expired")
    assert (lapsed in expired, live in expired) == (True, False)


@pytest.mark.usefixtures("engine")
def test_a_longer_waitlist_needs_no_more_queries(operator: Client, sale: Sale) -> None:
    floor = line(sale, sale.pool_id, count=6)
    waiting(sale, floor, 0)
    pages = (f"waitlist/{sale.session_id}/change/", "hold/?status=waiting")

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            for path in pages:
                page(operator, path)
        return len(asked)

    few = queries()
    for minutes in range(1, 6):
        waiting(sale, floor, minutes)
    assert queries() == few


def test_positions_are_counted_only_for_holds_on_the_page(
    operator: Client, sale: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Holds on earlier pages are skipped without counting their positions."""
    from holdfast.entrypoints.admin.lists import ReadOnlyAdmin

    monkeypatch.setattr(ReadOnlyAdmin, "list_per_page", 2)
    floor = line(sale, sale.pool_id, count=7)
    holds = [hold_id_of(sale, waiting(sale, floor, minutes)).hex for minutes in range(7)]
    with CaptureQueriesContext(connection) as asked:
        listed = words_of(list_of(operator, "hold", sale, status="waiting", p=3))
    assert len(re.findall(r"waiting position \d+", listed)) == 2
    counting = [each["sql"] for each in asked if "waiting_line own" in each["sql"]]
    assert counting
    for query in counting:
        assert sum(hold_id in query for hold_id in holds) == 2, query


def test_positions_are_counted_up_to_a_limit(
    operator: Client, sale: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.entrypoints.admin.waitlist import positions

    monkeypatch.setattr(positions, "POSITION_COUNTED_MAX", 2)
    floor = line(sale, sale.pool_id, count=4)
    last = [hold_id_of(sale, waiting(sale, floor, minutes)) for minutes in range(4)]
    shown = [
        _field(page(operator, f"hold/{each}/change/"), "Position", "Waitlist") for each in last
    ]
    assert shown == ["1", "2", "beyond 2", "beyond 2"]


def test_a_cart_hold_shows_its_items_and_their_earlier_versions(
    operator: Client, sale: Sale
) -> None:
    hold_id = sale.place(cart_token="basket-4711", is_cart=True, version=3)
    own = {"organization_id": sale.organization_id, "hold_id": hold_id}
    first, second = UUID(str(uuid7())), UUID(str(uuid7()))
    sale.owner.execute(
        "UPDATE hold_line SET cart_item_id = 'two-adults', group_id = %s, removed_version = 3"
        " WHERE hold_id = %s",
        [first, hold_id],
    )
    insert(
        sale.owner,
        "hold_line",
        **own,
        position=1024,
        added_version=3,
        ticket_type_id=sale.ticket_type_id,
        quantity=4,
        unit_price_minor=2550,
        pool_ids=[sale.pool_id],
        cart_item_id="four-adults",
        group_id=second,
    )
    text = page(operator, f"hold/{hold_id}/change/")
    assert in_order(text, "four-adults", "Earlier lines", "two-adults", "1 to 2")
    assert str(second)[-8:] in text
    assert "basket-4711" in text
    assert "basket-4711" in list_of(operator, "hold", sale)


def test_a_cart_token_without_a_cart_is_shown_as_a_remark(operator: Client, sale: Sale) -> None:
    hold_id = sale.place(cart_token="remembered")
    assert "remembered (not a cart)" in page(operator, f"hold/{hold_id}/change/")
    assert "remembered" not in list_of(operator, "hold", sale)
    assert "Earlier lines" not in page(operator, f"hold/{hold_id}/change/")


def test_a_line_waiting_for_seats_shows_which(operator: Client, sale: Sale) -> None:
    stalls = line(sale, sale.block_id, count=1)
    hold_id = hold_id_of(sale, waiting(sale, stalls, 1))
    sale.owner.execute(
        "UPDATE hold_line SET wish_block_id = %s, wish_accessible = 1, wish_is_together = true"
        " WHERE hold_id = %s",
        [sale.block_id, hold_id],
    )
    text = page(operator, f"hold/{hold_id}/change/")
    assert "waiting for: Stalls, together, 1 accessible" in text


def test_a_policy_shows_its_waitlist_fields(operator: Client, sale: Sale) -> None:
    sale.owner.execute(
        "UPDATE ticket_type SET waitlist = true, waiting_passes_max = 937 WHERE id = %s",
        [sale.ticket_type_id],
    )
    text = page(operator, f"tickettype/{sale.ticket_type_id}/change/")
    assert "937" in words_of(text)


def words_of(text: str) -> str:
    """The visible text of a page."""
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def _field(text: str, label: str, following: str) -> str:
    """The value between two labels."""
    return words_of(text).rpartition(f" {label} ")[2].partition(f" {following}")[0].strip(" :")
