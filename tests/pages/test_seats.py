"""Operators see blocks, seats and their holds, and a picture of the hall."""

import json
import re
from uuid import UUID, uuid4

import pytest
from django.test import Client
from uuid_utils.compat import uuid7

from tests.pages.sales import Sale, insert, list_of, page

TITLES = re.compile(r"<title>([^<]*: [^<]*)</title>")


def seats_listed(text: str) -> set[UUID]:
    return {UUID(found) for found in re.findall(r"/seat/([0-9a-f-]{36})/change/", text)}


def badge(text: str) -> str:
    (status,) = re.findall(r">\s*(available|held|sold|blocked)\s*</span>", text)
    return str(status)


def hall_page(client: Client, sale: Sale) -> str:
    return page(client, f"session/{sale.session_id}/change/")


def test_a_seat_of_an_expired_hold_is_available(operator: Client, sale: Sale) -> None:
    free = sale.seat("A", 1)
    lapsed = sale.held_seat("A", 2, uuid7(), seconds=-1)
    held = sale.held_seat("A", 3, uuid7())
    assert seats_listed(list_of(operator, "seat", sale, status="available")) == {free, lapsed}
    assert seats_listed(list_of(operator, "seat", sale, status="held")) == {held}
    assert badge(page(operator, f"seat/{lapsed}/change/")) == "available"
    assert badge(page(operator, f"seat/{held}/change/")) == "held"
    block = page(operator, f"block/{sale.block_id}/change/")
    assert "3: 2 available, 1 held, 0 sold, 0 blocked" in block


@pytest.mark.parametrize("term", ["C 12", "c12", "C-12", "C, 12"])
def test_a_seat_is_found_by_row_and_number(operator: Client, sale: Sale, term: str) -> None:
    wanted = sale.seat("C", 12)
    sale.seat("C", 1)
    sale.seat("A", 12)
    assert seats_listed(list_of(operator, "seat", sale, q=term)) == {wanted}


def test_seats_are_found_by_row_by_number_and_by_id(operator: Client, sale: Sale) -> None:
    c12, c1, a12 = sale.seat("C", 12), sale.seat("C", 1), sale.seat("A", 12)
    assert seats_listed(list_of(operator, "seat", sale, q="c")) == {c12, c1}
    assert seats_listed(list_of(operator, "seat", sale, q="12")) == {c12, a12}
    assert seats_listed(list_of(operator, "seat", sale, q=a12)) == {a12}
    assert seats_listed(list_of(operator, "seat", sale, q="2")) == set()


def test_seats_can_be_filtered_by_block(operator: Client, sale: Sale) -> None:
    here = sale.seat("A", 1)
    circle = uuid7()
    place = {"organization_id": sale.organization_id, "session_id": sale.session_id}
    insert(sale.owner, "block", **place, id=circle, name="Circle", rank=1)
    there = sale.seat("A", 1, block_id=circle)
    text = list_of(operator, "seat", sale, session_id=sale.session_id)
    assert seats_listed(text) == {here, there}
    for name, block_id in (("Stalls", sale.block_id), ("Circle", circle)):
        assert re.search(rf'value="{block_id}"[^>]*>\s*{name}|block_id={block_id}', text), name
    chosen = list_of(operator, "seat", sale, session_id=sale.session_id, block_id=circle)
    assert seats_listed(chosen) == {there}


def test_filters_do_not_reveal_who_holds_a_seat(operator: Client, sale: Sale) -> None:
    assert operator.get("/admin/holdfast/seat/", {"holder_key": str(uuid4())}).status_code == 400
    assert operator.get("/admin/holdfast/hold/", {"cart_token": "b"}).status_code == 400


def test_a_block_shows_its_prices_and_its_capacity(operator: Client, sale: Sale) -> None:
    text = page(operator, f"block/{sale.block_id}/change/")
    assert "30.75\N{NO-BREAK SPACE}EUR" in text
    assert "all seats" in text
    capped = "UPDATE block SET capacity_pool_id = %s WHERE id = %s"
    sale.owner.execute(capped, [sale.pool_id, sale.block_id])
    assert f"/pool/{sale.pool_id}/change/" in page(operator, f"block/{sale.block_id}/change/")


def test_a_hold_shows_its_seats_and_notes(operator: Client, sale: Sale) -> None:
    seat_id = sale.seat("C", 12)
    hold_id = sale.place(
        seat_id=seat_id,
        source="scanner",
        cart_token="basket-7",
        notes="call bartholomew@example.com",
    )
    text = page(operator, f"hold/{hold_id}/change/")
    for shown in ("Stalls, row C, seat 12", "scanner", "basket-7", "call b***@example.com"):
        assert shown in text
    assert "bartholomew" not in text


@pytest.mark.parametrize("model", ["fact", "auditentry"])
def test_the_history_shows_seats_without_a_hold(operator: Client, sale: Sale, model: str) -> None:
    seat_id = sale.seat("C", 12)
    about = {"organization_id": sale.organization_id, "seat_id": seat_id}
    happened = {"type": "seat.blocked", "version": 2, "occurred_at": "now", "event_id": uuid7()}
    insert(sale.owner, "outbox", **about, **happened, payload="{}")
    done = {"action": "seat.blocked", "at": "now", "actor": "key 1", "request_id": "r"}
    insert(sale.owner, "audit", **about, **done, new=json.dumps({"status": "blocked"}))
    table = "outbox" if model == "fact" else "audit"
    query = f"SELECT seq FROM {table} WHERE seat_id = %s".encode()
    row = sale.owner.execute(query, [seat_id]).fetchone()
    assert row is not None
    for text in (
        list_of(operator, model, sale),
        page(operator, f"{model}/{row[0]}/change/"),
        list_of(operator, model, sale, hold_id__isnull=True, seat_id=seat_id),
    ):
        assert "Stalls, row C, seat 12" in text
        assert f"/seat/{seat_id}/change/" in text
        assert "/hold/None" not in text


def test_an_event_shows_its_status_and_sale_window(operator: Client, sale: Sale) -> None:
    sale.owner.execute(
        "UPDATE event SET status = 'cancelled', sale_starts_at = '2031-05-01 10:00Z',"
        " sale_ends_at = '2031-05-02 10:00Z' WHERE organization_id = %s",
        [sale.organization_id],
    )
    text = list_of(operator, "event", sale, status="cancelled")
    for shown in ("Winter concerts", "cancelled", "2031-05-01 10:00", "2031-05-02 10:00"):
        assert shown in text
    assert "Winter concerts" not in list_of(operator, "event", sale, status="published")


def test_the_hall_is_drawn_with_every_seat_and_its_status(operator: Client, sale: Sale) -> None:
    sale.seat("A", 1)
    sale.held_seat("A", 2, uuid7())
    sale.held_seat("A", 3, uuid7(), seconds=-1)
    sale.seat("B", 1, status="sold", hold_id=uuid7())
    sale.seat("B", 2, status="blocked", blocked_reason="camera", is_companion=True)
    sale.seat("B", 3, is_accessible=True, is_restricted_view=True)
    text = hall_page(operator, sale)
    assert TITLES.findall(text) == [
        "Stalls, row A, seat 1: available",
        "Stalls, row A, seat 2: held",
        "Stalls, row A, seat 3: available",
        "Stalls, row B, seat 1: sold",
        "Stalls, row B, seat 2: blocked, companion",
        "Stalls, row B, seat 3: available, accessible, restricted view",
    ]
    assert 'aria-label="6 seats: 3 available, 1 held, 1 sold, 1 blocked"' in text
    for shown in ("STAGE", ">Stalls</text>", ">A</text>", ">B</text>", "Restricted view"):
        assert shown in text


def test_names_in_the_hall_are_escaped(operator: Client, sale: Sale) -> None:
    sale.owner.execute("UPDATE block SET name = '<b>&' WHERE id = %s", [sale.block_id])
    sale.seat("A", 1)
    text = hall_page(operator, sale)
    assert "<title>&lt;b&gt;&amp;, row A, seat 1: available</title>" in text
    assert "<b>&" not in text


def test_a_session_without_seats_has_no_picture(operator: Client, sale: Sale) -> None:
    assert "hall-picture" not in hall_page(operator, sale)


def test_a_large_hall_is_drawn_without_seat_names(
    operator: Client, sale: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.entrypoints.admin.seats import hall

    sale.seat("A", 1)
    sale.seat("A", 2)
    monkeypatch.setattr(hall, "NAMED_MAX", 1)
    text = hall_page(operator, sale)
    assert not TITLES.findall(text)
    assert len(re.findall(r'<use href="#hall-available" x=', text)) == 2


def test_a_hall_too_large_to_draw_shows_counts(
    operator: Client, sale: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.entrypoints.admin.seats import hall

    sale.seat("A", 1)
    sale.held_seat("A", 2, uuid7())
    monkeypatch.setattr(hall, "DRAWN_MAX", 1)
    text = hall_page(operator, sale)
    assert "hall-picture" not in text
    assert "2 seats are too many for one picture." in text
    assert re.search(r"Held <strong>1</strong>", text)
