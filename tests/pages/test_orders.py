"""Links between holds and orders, and the ticket fields that no page shows."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import connection
from django.db.utils import ProgrammingError
from django.test import Client
from uuid_utils.compat import uuid7

from holdfast.domain.ids import HoldId
from holdfast.domain.orders.order import revival_id
from tests.pages.sales import Sale, list_of, new_sale, page


def address(model: str, row_id: UUID, sale: Sale) -> str:
    return f"/admin/holdfast/{model}/{row_id}/change/?organization={sale.organization_id}"


def checkout_of(order_id: UUID, sale: Sale) -> UUID:
    row = sale.owner.execute(
        "SELECT checkout_id FROM purchase_order WHERE organization_id = %s AND id = %s",
        [sale.organization_id, order_id],
    ).fetchone()
    assert row is not None
    return UUID(str(row[0]))


def test_hold_checkout_and_order_link_to_each_other(operator: Client, sale: Sale) -> None:
    holds = sale.place(), sale.place()
    order = sale.pay(*holds)
    checkout = checkout_of(order, sale)
    for hold in holds:
        text = page(operator, f"hold/{hold}/change/")
        assert address("order", order, sale) in text
        assert address("checkout", checkout, sale) in text
    for model, row in (("order", order), ("checkout", checkout)):
        text = page(operator, f"{model}/{row}/change/")
        places = [text.index(address("hold", hold, sale)) for hold in holds]
        assert places == sorted(places), "in checkout order"
    assert address("checkout", checkout, sale) in page(operator, f"order/{order}/change/")
    assert address("order", order, sale) in page(operator, f"checkout/{checkout}/change/")


def test_an_order_shows_its_tickets_but_neither_code_nor_attendee(
    operator: Client, sale: Sale
) -> None:
    seat = sale.seat("C", 12)
    hold = sale.place(seat_id=seat)
    order = sale.pay(hold, seat_id=seat)
    row = sale.owner.execute("SELECT code FROM ticket WHERE order_id = %s", [order]).fetchone()
    assert row is not None
    text = page(operator, f"order/{order}/change/")
    for shown in ("Stalls, row C, seat 12", "Adult", "Friday", "25.50\N{NO-BREAK SPACE}EUR"):
        assert shown in text
    for hidden in (row[0], "Bartholomew", "bartholomew"):
        assert hidden not in text


@pytest.mark.parametrize("column", ["code", "attendee", "attendee_key"])
def test_the_operator_role_cannot_read_codes_or_attendees(operator: Client, column: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(id) FROM ticket")
        with pytest.raises(ProgrammingError) as refused:
            cursor.execute(f"SELECT {column} FROM ticket")
    assert isinstance(refused.value.__cause__, psycopg.errors.InsufficientPrivilege)


def test_an_unpaid_checkout_says_so(operator: Client, sale: Sale) -> None:
    hold = sale.place()
    order = sale.pay(hold)
    checkout = checkout_of(order, sale)
    sale.owner.execute("UPDATE purchase_order SET checkout_id = NULL WHERE id = %s", [order])
    assert "not paid" in page(operator, f"checkout/{checkout}/change/")


def test_an_expired_hold_and_its_late_payment_link_to_each_other(
    operator: Client, sale: Sale
) -> None:
    lapsed = sale.place(expires_in=-60)
    replacement = sale.place(id=revival_id(HoldId(lapsed)), revives=lapsed)
    order = sale.pay(replacement)
    assert address("hold", replacement, sale) in page(operator, f"hold/{lapsed}/change/")
    text = page(operator, f"hold/{replacement}/change/")
    assert address("hold", lapsed, sale) in text
    assert address("order", order, sale) in text


def test_orders_are_found_by_any_of_their_references(operator: Client, sale: Sale) -> None:
    reference = uuid4().hex[:8].upper()
    hold = sale.place(reference=reference)
    wanted = sale.pay(hold, payment_reference="pay 4711")
    other = sale.pay(sale.place())
    for term in (wanted, "pay 4711", reference.lower(), hold):
        text = list_of(operator, "order", sale, q=term)
        assert (str(wanted) in text, str(other) in text) == (True, False), term
    assert str(wanted) not in list_of(operator, "order", sale, q="pay 471")


def test_the_list_of_orders_shows_the_references_of_their_holds(
    operator: Client, sale: Sale
) -> None:
    first, second, third = (uuid4().hex[:8].upper() for _ in range(3))
    shared = UUID(str(uuid7()))
    neighbour = new_sale(sale.owner)
    neighbour.place(id=shared, reference=third)
    sale.pay(sale.place(reference=second), sale.place(id=shared, reference=first))
    text = list_of(operator, "order", sale)
    assert f"{second}, {first}" in text, "in checkout order"
    assert third not in text
    references = [uuid4().hex[:8].upper() for _ in range(5)]
    sale.pay(*(sale.place(reference=each) for each in references), payment_reference="p" * 40)
    text = list_of(operator, "order", sale)
    assert f"{', '.join(references[:3])} and 2 more" in text
    assert "p" * 24 in text
    assert "p" * 25 not in text, "only its own page shows it in full"


def test_checkouts_are_found_by_any_of_their_references(operator: Client, sale: Sale) -> None:
    reference = uuid4().hex[:8].upper()
    hold = sale.place(reference=reference)
    wanted, other = (checkout_of(order, sale) for order in (sale.pay(hold), sale.pay(sale.place())))
    for term in (wanted, reference.lower(), hold):
        text = list_of(operator, "checkout", sale, q=term)
        assert (str(wanted) in text, str(other) in text) == (True, False), term
    assert "/admin/holdfast/checkout/" in page(operator, "hold/"), "the menu links to it"


def test_only_an_active_hold_shows_when_it_is_due(operator: Client, sale: Sale) -> None:
    now = datetime.now(UTC)

    def times_shown(warn_at: datetime, **hold: Any) -> int:
        """The due time is that of the warning, which also has its own field."""
        hold_id = sale.place(warn_at=warn_at, **hold)
        return page(operator, f"hold/{hold_id}/change/").count(f"{warn_at:%H:%M:%S}")

    soon = now + timedelta(seconds=300)
    assert times_shown(soon) == 2
    assert times_shown(soon, status="cancelled") == 1
    # The reaper of a server that another test has started may expire it, and clears its warning.
    assert times_shown(now - timedelta(seconds=61), expires_in=-1) < 2


def test_an_id_shared_by_two_organizations_shows_the_requested_one(
    operator: Client, sale: Sale
) -> None:
    shared = UUID(str(uuid7()))
    neighbour = new_sale(sale.owner)
    for one, reference in ((sale, "mine"), (neighbour, "theirs")):
        one.pay(one.place(), id=shared, payment_reference=reference)
    for one, reference in ((sale, "mine"), (neighbour, "theirs")):
        text = page(operator, f"order/{shared}/change/", organization=one.organization_id)
        assert ("mine" in text, "theirs" in text) == (reference == "mine", reference == "theirs")


def test_a_policy_shows_its_checkout_fields(operator: Client, sale: Sale) -> None:
    sale.owner.execute(
        "UPDATE organization SET checkout_extension_seconds = 421, lifetime_max_seconds = 1422,"
        " warning_seconds = 43, late_payment_seconds = 3424 WHERE id = %s",
        [sale.organization_id],
    )
    text = page(operator, f"organization/{sale.organization_id}/change/")
    for said in ("421", "1422", "43", "3424"):
        assert f">{said}<" in "".join(text.split())
