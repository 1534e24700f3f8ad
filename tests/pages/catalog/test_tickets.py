"""Ticket types, pools and blocks are created and changed in the admin, with their policies."""

from typing import Any
from uuid import UUID

import pytest

from tests.pages.catalog.conftest import Desk


@pytest.fixture
def session_id(desk: Desk) -> UUID:
    return desk.session(desk.event())


def only(desk: Desk, columns: str, table: str, session_id: UUID) -> Any:
    (row,) = desk.rows(f"SELECT {columns} FROM {table} WHERE session_id = %s", session_id)
    return row


def test_ticket_types_share_a_pool(desk: Desk, session_id: UUID) -> None:
    desk.save(f"session/{session_id}/pool/", name="Venue", total="100")
    pool_id, total = only(desk, "id, total", "pool", session_id)
    assert total == 100
    type_id = desk.ticket_type(
        session_id, price="25,5", pools=[str(pool_id)], reason="Prices fixed"
    )
    price, is_seated = only(desk, "price_minor, is_seated", "ticket_type", session_id)
    assert (price, is_seated) == (2550, False)
    drawn = desk.rows("SELECT pool_id FROM ticket_type_pool WHERE ticket_type_id = %s", type_id)
    assert drawn == [(pool_id,)]
    assert desk.audited("ticket_type.created")[-1][1:] == (desk.name, "Prices fixed")
    assert desk.audited("pool.created")[-1][1] == desk.name


@pytest.mark.parametrize(
    ("entered", "problem"),
    [
        ({"price": "free"}, "Enter an amount such as 25.50"),
        ({"price": "1.234"}, "at most 2 decimals"),
        ({"price": ""}, "This field is required"),
        ({"capacity": ""}, "needs tickets of its own or a pool"),
        ({"capacity": "-1"}, "greater than or equal to 0"),
        ({"quantity_max": "0"}, "greater than or equal to 1"),
    ],
)
def test_a_wrong_ticket_type_is_explained(
    desk: Desk, session_id: UUID, entered: dict[str, str], problem: str
) -> None:
    given = {"name": "Adult", "price": "10", "capacity": "5", **entered}
    assert problem in desk.refused(f"session/{session_id}/tickettype/", **given)
    assert not desk.rows("SELECT 1 FROM ticket_type WHERE session_id = %s", session_id)


def test_a_price_is_changed_in_the_currency_of_the_event(desk: Desk) -> None:
    session_id = desk.session(desk.event(currency="JPY"))
    type_id = desk.ticket_type(session_id, price="2500", capacity="5")
    edit = f"tickettype/{type_id}/edit/"
    assert 'value="2500"' in desk.get(edit)
    assert "no decimals" in desk.refused(edit, name="Adult", price="25.50")
    pool_id = only(desk, "id", "pool", session_id)[0]
    desk.save(edit, name="Adult", price="3000", pools=[str(pool_id)])
    assert only(desk, "price_minor", "ticket_type", session_id) == (3000,)


def test_a_pool_cannot_shrink_below_what_is_taken(desk: Desk) -> None:
    pool_id = desk.sale.pool_id  # 100 places, 10 held and 5 sold
    edit = f"pool/{pool_id}/edit/"
    assert "10 of its 100 places are held and 5 are sold" in desk.get(edit)
    page = desk.refused(edit, name="Floor", total="14")
    assert "15 place(s) are held or sold; the total cannot be lower" in page
    desk.save(edit, name="Floor", total="15")
    assert desk.rows("SELECT total FROM pool WHERE id = %s", pool_id) == [(15,)]


def test_a_stale_pool_is_not_overwritten(desk: Desk) -> None:
    edit = f"pool/{desk.sale.pool_id}/edit/"
    desk.save(edit, name="Floor", total="90", seen="100 Floor")
    assert "Somebody else" in desk.refused(edit, name="Floor", total="80", seen="100 Floor")


def test_a_block_has_prices_of_its_own(desk: Desk, session_id: UUID) -> None:
    adult = desk.ticket_type(session_id, is_seated="on")
    child = desk.ticket_type(session_id, name="Child", price="10", is_seated="on")
    path = f"session/{session_id}/block/"
    desk.save(path, name="Stalls", total="20", **{f"price_{adult}": "30"})
    page = desk.refused(path, name="Stalls")
    assert "already" in page
    block_id, rank = only(desk, "id, rank", "block", session_id)
    prices = "SELECT ticket_type_id, price_minor FROM block_price WHERE block_id = %s ORDER BY rank"
    assert desk.rows(prices, block_id) == [(adult, 3000)]
    edit = f"block/{block_id}/edit/"
    form = desk.get(edit)
    assert 'value="30.00"' in form
    given = {f"price_{adult}": "30.00", f"price_{child}": "12.50"}
    desk.save(edit, name="Stalls", rank=str(rank), total="", **given, reason="Children welcome")
    assert desk.rows(prices, block_id) == [(adult, 3000), (child, 1250)]
    assert desk.rows("SELECT capacity_pool_id FROM block WHERE id = %s", block_id) == [(None,)]
    assert desk.audited("block.changed")[-1][1:] == (desk.name, "Children welcome")


def test_a_policy_shows_where_each_value_comes_from(desk: Desk) -> None:
    own = desk.sale.organization_id
    desk.rows("UPDATE organization SET warning_seconds = 90 WHERE id = %s RETURNING 1", own)
    event_id = desk.event(ttl_seconds="300")
    shown = desk.get(f"event/{event_id}/change/")
    assert "5 min, from this event" in shown
    assert "1 min 30 s, from the organization" in shown
    assert "20 min, default" in shown
    assert "no limit, default" in shown
    session_id = desk.session(event_id)
    type_id = desk.ticket_type(session_id, capacity="5", waitlist="true")
    shown = desk.get(f"tickettype/{type_id}/change/")
    assert "5 min, from the event" in shown
    assert "on, from this ticket type" in shown
    desk.save(f"tickettype/{type_id}/policy/", ttl_seconds="1500", reason="Slow buyers")
    shown = desk.get(f"tickettype/{type_id}/change/")
    assert "25 min, from this ticket type" in shown
    assert "30 min, from the hold time plus the checkout extension" in shown
    assert "off, default" in shown  # the waitlist was cleared
    assert desk.audited("ticket_type.changed")[-1][1:] == (desk.name, "Slow buyers")


def test_a_policy_is_cleared_and_refused(desk: Desk) -> None:
    event_id = desk.event(ttl_seconds="300")
    policy = f"event/{event_id}/policy/"
    form = desk.get(policy)
    assert "If empty: 10 min, default" in form
    page = desk.refused(policy, ttl_seconds="600", lifetime_max_seconds="60")
    assert "must not exceed" in page
    assert "less than or equal to" in desk.refused(policy, ttl_seconds="99999999")
    desk.save(policy, ttl_seconds="")
    assert "10 min, default" in desk.get(f"event/{event_id}/change/")
