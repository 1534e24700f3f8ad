"""Selling to a caller: a hold is placed on the page of a session, and its payment is recorded."""

import re
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid5

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client
from uuid_utils.compat import uuid7

from holdfast.domain.access.roles import Role
from holdfast.domain.catalog.model import EventStatus, SaleTerms
from holdfast.domain.group.command import Command
from holdfast.domain.holds.hold import Hold, HoldStatus, Source
from holdfast.domain.ids import EventId, HoldId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.values import EmailAddress, Holder
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.ports.engine import Answer
from tests.contract.asking import placed
from tests.contract.venues import NO_HALL, STRANGER, Plan, Venue
from tests.pages.conftest import NAME
from tests.pages.desk import PLAN, Desk, opened, text_of
from tests.pages.sales import Sale
from tests.pages.staff import browser_of
from tests.support.people import PASSWORD, add_staff

ANN = Holder(EmailAddress("ann@example.com"))
Wanted = tuple[dict[str, int], dict[str, str]]  # tickets, and other fields


@pytest.fixture
def desk(database_url: str, sale: Sale, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """After the sale, whose services know no engine."""
    yield from opened(database_url, monkeypatch)


def another(desk: Desk, plan: Plan) -> Desk:
    """The same desk with another venue."""
    return replace(desk, venue=desk.world.build(replace(plan, event_id=EventId(uuid7()))))


def member(database_url: str, venue: Venue, role: str) -> Client:
    hashed = MD5PasswordHasher().encode(PASSWORD, "s" * 32)
    return browser_of(add_staff(database_url, str(venue.organization_id), role, hashed))


def url(venue: Venue) -> str:
    return f"/admin/holdfast/session/{venue.session_id}/hold/"


def entered(venue: Venue, tickets: dict[str, int] | None = None, **given: Any) -> dict[str, Any]:
    """The form as a person fills it in."""
    quantities = {
        f"quantity_{venue.ticket_types[name]}": count for name, count in (tickets or {}).items()
    }
    who = {"email": "ann@example.com", "reason": "on the phone", "hold_id": str(uuid7())}
    return {**who, **quantities, **given}


def confirmed(client: Client, venue: Venue, form: dict[str, Any]) -> str:
    """Confirm, and follow to the page that it leads to."""
    answer = client.post(url(venue), {**form, "confirm": "1"}, follow=True)
    assert answer.status_code == 200
    return text_of(answer)


def held(client: Client, desk: Desk, tickets: dict[str, int] | None = None, **given: Any) -> Hold:
    """Place a hold that is accepted."""
    form = entered(desk.venue, tickets, **given)
    said = confirmed(client, desk.venue, form)
    assert "Held until" in said, said
    return desk.world.hold(desk.venue, HoldId(UUID(form["hold_id"])))


def errors(client: Client, venue: Venue, form: dict[str, Any]) -> dict[str, str]:
    """Confirm what is refused: what the page says at each field, and at the top."""
    answer = client.post(url(venue), {**form, "confirm": "1"})
    assert answer.status_code == 200
    return errors_in(answer.content.decode(), venue)


def errors_in(html: str, venue: Venue) -> dict[str, str]:
    top = re.findall(r'(?s)role="alert">(.*?)</p>', html)
    found = {"top": unescape(" ".join(top))} if top else {}
    names = {f"quantity_{id_}": name for name, id_ in venue.ticket_types.items()}
    fields = re.split(r'(?=<div class="(?:errors )?flex flex-col group)', html)[1:]
    for field in fields:
        if field.startswith('<div class="errors '):
            name = re.findall(r'name="([^"]+)', field)[0]
            told = re.sub(
                r"<[^>]+>", " ", re.split(r"</(?:div|ul)>", field.split("text-red")[-1])[0]
            )
            found[names.get(name, name)] = unescape(" ".join(told.partition(">")[2].split()))
    return found


def test_the_consequence_is_stated_before_anything_is_held(operator: Client, desk: Desk) -> None:
    page = text_of(operator.get(url(desk.venue)))
    assert "Standing, 45.00 EUR" in page
    assert "Row A: 1-6" in page, "the free seats"
    form = entered(desk.venue, {"Standing": 3, "Adult": 2}, seats="parterre b 1, 2; Box B 1")
    before = datetime.now(UTC)
    page = text_of(operator.post(url(desk.venue), form))
    ends = {f"{at + timedelta(minutes=10):%H:%M}" for at in (before, datetime.now(UTC))}
    said = re.search(
        r".* Holds (.*) for a\*\*\*@example.com until (\S+) UTC \(10 minutes\)\.", page
    )
    assert said is not None, page
    for part in ("3 tickets (Standing)", "the best 2 seats side by side (Adult)"):
        assert part in said[1]
    assert said[1].endswith(" and 3 seats (Parterre B 1, 2, Box B 1)")
    assert said[2] in ends
    assert "Price: 360.00 EUR. Without a payment by then, the hold lapses" in page
    assert "Hold 8 tickets" in page
    assert not desk.world.all_holds(desk.venue)


def test_seats_that_are_picked_in_the_hall_are_filled_in(operator: Client, desk: Desk) -> None:
    names = ("Parterre A 2", "Parterre A 3", "Box B 1")
    picked = ",".join(map(str, desk.venue.seat_ids(*names)))
    html = operator.post(url(desk.venue), {"seats": picked}).content.decode()
    (written,) = re.findall(r'name="seats" value="([^"]*)"', html)
    assert written == "Parterre A 2, 3, Box B 1"
    assert not errors_in(html, desk.venue)
    hold = held(operator, desk, seats=written)
    assert sorted(desk.venue.names_of(hold)) == sorted(names)
    html = operator.post(url(desk.venue), {"seats": f"x,{uuid7()}"}).content.decode()
    assert not re.findall(r'name="seats" value', html), "nobody else's seats"


def test_the_hold_is_placed_and_its_page_says_by_whom(operator: Client, desk: Desk) -> None:
    form = entered(desk.venue, {"Standing": 2}, seats="Parterre A 3, 4", user_id="caller-7")
    page = confirmed(operator, desk.venue, form)
    (hold,) = desk.world.all_holds(desk.venue)
    assert str(hold.id) == form["hold_id"]
    assert (hold.status, hold.quantity, hold.total_minor) == (HoldStatus.ACTIVE, 4, 18_000)
    assert desk.venue.names_of(hold) == ["Parterre A 3", "Parterre A 4"]
    assert hold.holder == Holder(EmailAddress("ann@example.com"), "caller-7")
    assert hold.remarks.source is Source.DESK
    assert f"Held until {hold.expires_at:%Y-%m-%d %H:%M:%S} UTC." in page
    assert f"Placed by operator {NAME} at the desk: on the phone" in page
    assert "Record payment" in page
    ((action, actor, acting, new),) = desk.audited(hold)
    assert (action, actor, acting) == ("hold.created", f"operator:{NAME}", NAME)
    assert new["reason"] == "on the phone"


def test_viewers_see_where_a_hold_was_placed_but_not_by_whom(
    database_url: str, operator: Client, desk: Desk
) -> None:
    hold = held(operator, desk, {"Standing": 1})
    page = desk.page(member(database_url, desk.venue, "viewer"), hold)
    assert "Placed at the desk" in page
    assert NAME not in page


def test_the_best_seats_are_side_by_side(operator: Client, desk: Desk) -> None:
    placed(desk.engine, desk.venue.seats("Parterre A 3", holder=STRANGER))
    hold = held(operator, desk, {"Adult": 4})
    assert hold.is_adjacent
    assert len(hold.seats) == 4
    told = errors(operator, desk.venue, entered(desk.venue, {"Adult": 4}))["Adult"]
    assert "Asked for 4 \N{MULTIPLICATION SIGN} Adult, 3 were left." in told
    assert "Seats must be side by side: name them to seat people apart." in told


def test_seats_are_sold_as_the_type_that_is_chosen(operator: Client, desk: Desk) -> None:
    both = replace(PLAN.hall, sold_in={"Parterre": ("Adult", "Box seat"), "Box": ("Box seat",)})
    desk = another(desk, replace(PLAN, hall=both))
    types = desk.venue.ticket_types
    first = held(operator, desk, seats="Parterre A 1")
    chosen = held(operator, desk, seats="Parterre A 2", seats_as=str(types["Box seat"]))
    sold = [line.ticket_type_id for hold in (first, chosen) for line in hold.lines]
    assert sold == [types["Adult"], types["Box seat"]]


def test_the_price_that_is_stated_is_that_of_the_hold(operator: Client, desk: Desk) -> None:
    """The price of a seat is that of its block, and its type is the first of its block."""
    sold_in = {"Parterre": ("Adult", "Box seat"), "Box": ("Box seat", "Adult")}
    desk = another(desk, replace(PLAN, hall=replace(PLAN.hall, sold_in=sold_in)))
    with desk.world.connected() as connection:
        for name, price in (("Parterre", 3_100), ("Box", 7_300)):
            connection.execute(
                "UPDATE block_price SET price_minor = %s + rank WHERE block_id = %s",
                [price, desk.venue.blocks[name]],
            )
    form = entered(desk.venue, {"Standing": 2}, seats="Box B 1, Parterre A 1")
    page = text_of(operator.post(url(desk.venue), form))
    stated = re.findall(r"Price: ([0-9.]+) EUR", page)
    confirmed(operator, desk.venue, form)
    (hold,) = desk.world.all_holds(desk.venue)
    assert stated == [f"{hold.total_minor / 100:.2f}"]
    dear = entered(desk.venue, {"Box seat": 1})
    page = text_of(operator.post(url(desk.venue), dear))
    assert "The price depends on the seats, and is shown with the hold." in page


def test_a_form_that_is_sent_twice_makes_one_hold(operator: Client, desk: Desk) -> None:
    form = entered(desk.venue, {"Standing": 1})
    first, second = (confirmed(operator, desk.venue, form) for _ in range(2))
    assert "Held until" in first
    assert "Held until" in second
    (hold,) = desk.world.all_holds(desk.venue)
    # Long after, the page may still be open.
    desk.ask(desk.venue.release(hold.id))
    assert "This form had made this hold already." in confirmed(operator, desk.venue, form)
    assert len(desk.world.all_holds(desk.venue)) == 1
    confirmed(operator, desk.venue, {**form, "hold_id": str(uuid7())})
    assert len(desk.world.all_holds(desk.venue)) == 2, "control: another form"


def test_a_form_that_has_made_a_hold_makes_no_other_one(operator: Client, desk: Desk) -> None:
    hold = held(operator, desk, {"Standing": 1})
    form = entered(desk.venue, {"Standing": 2}, hold_id=str(hold.id))
    told = errors(operator, desk.venue, form)["top"]
    assert f"This form has already made hold {hold.reference}" in told
    assert desk.world.all_holds(desk.venue) == [hold]


def test_the_form_can_be_changed_after_the_consequence(operator: Client, desk: Desk) -> None:
    form = entered(desk.venue, {"Standing": 2})
    html = operator.post(url(desk.venue), {**form, "change": "1"}).content.decode()
    assert 'value="ann@example.com"' in html
    assert "on the phone</textarea>" in html.replace("\n", "")
    assert f'value="{form["hold_id"]}"' in html
    assert not errors_in(html, desk.venue)
    assert not desk.world.all_holds(desk.venue)


@pytest.mark.parametrize(
    ("wanted", "field", "told"),
    [
        (
            ({"Standing": 3}, {}),
            "Standing",
            "Asked for 3 \N{MULTIPLICATION SIGN} Standing, 2 were left.",
        ),
        (({"Adult": 9}, {}), "Adult", "Asked for 9 \N{MULTIPLICATION SIGN} Adult, 5 were left."),
        (({}, {"seats": "A 1, 2"}), "seats", "Seat Parterre A 1 was held by somebody else until "),
        (({}, {"seats": "Box B 1"}), "seats", "Seat Box B 1 was blocked."),
        (({"Standing": 501}, {}), "Standing", "one hold may have at most 500."),
    ],
)
def test_a_refusal_is_told_at_its_field_and_changes_nothing(
    operator: Client,
    desk: Desk,
    wanted: Wanted,
    field: str,
    told: str,
) -> None:
    desk = another(desk, replace(PLAN, policy=HoldPolicy(600, quantity_max=500)))
    placed(desk.engine, desk.venue.seats("Parterre A 1", "Parterre B 5", holder=STRANGER))
    placed(desk.engine, desk.venue.place(("Standing", 2), holder=STRANGER))
    desk.ask(desk.venue.block("Box B 1"))
    before = desk.world.all_holds(desk.venue)
    found = errors(operator, desk.venue, entered(desk.venue, wanted[0], **wanted[1]))
    assert list(found) == [field]
    assert told in found[field]
    assert found[field].endswith("Nothing was changed.")
    assert desk.world.all_holds(desk.venue) == before


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (
            {"holder_units_max": 3},
            "Limit of 3 tickets per customer reached: the customer had 2 and",
        ),
        ({"holder_holds_max": 1}, "Limit of 1 hold per customer reached: the customer had 1."),
        ({"one_active_hold": True}, "The customer already had a hold for this session."),
    ],
)
def test_the_limits_of_a_customer_apply_at_the_desk(
    operator: Client, desk: Desk, policy: dict[str, Any], told: str
) -> None:
    desk = another(desk, replace(PLAN, policy=HoldPolicy(600, **policy)))
    hold = held(operator, desk, {"Standing": 2})
    found = errors(operator, desk.venue, entered(desk.venue, {"Standing": 2}))
    assert list(found) == ["email"]
    assert told in found["email"]
    assert desk.world.all_holds(desk.venue) == [hold]
    named = entered(desk.venue, {"Standing": 1}, email="", user_id="bob")
    assert "Held until" in confirmed(operator, desk.venue, named), "another customer"


@pytest.mark.parametrize(
    ("terms", "told", "is_offered"),
    [
        (SaleTerms(starts_at=datetime(2199, 1, 1, tzinfo=UTC)), "The sale had not started.", True),
        (SaleTerms(ends_at=datetime(2020, 1, 1, tzinfo=UTC)), "The sale had ended at", True),
        (SaleTerms(EventStatus.DRAFT), "The event was not on sale.", False),
        (SaleTerms(EventStatus.CANCELLED), "the session had been cancelled.", False),
    ],
)
def test_nothing_is_held_while_nothing_is_sold(
    operator: Client, desk: Desk, terms: SaleTerms, told: str, is_offered: bool
) -> None:
    desk = another(desk, replace(PLAN, sale=terms))
    page = operator.get(f"/admin/holdfast/session/{desk.venue.session_id}/change/")
    assert ("Hold for a customer" in text_of(page)) is is_offered
    found = errors(operator, desk.venue, entered(desk.venue, {"Standing": 1}))
    assert told in found["top"]
    assert not desk.world.all_holds(desk.venue)


@pytest.mark.parametrize(
    ("wanted", "field", "told"),
    [
        (({}, {}), "Standing", "Enter how many."),
        (({"Standing": 0}, {}), "Standing", "Enter how many."),
        (({"Standing": -1}, {}), "Standing", "greater than or equal to 0"),
        (({"Standing": 10_001}, {}), "Standing", "less than or equal to 10000"),
        (({"Standing": 1}, {"email": ""}), "email", "Enter an e-mail address or a user id."),
        (({"Standing": 1}, {"email": "ann"}), "email", "Enter an address such as ada@example.com."),
        (({"Standing": 1}, {"user_id": "a\u200bb"}), "user_id", "Enter printable characters only."),
        (({"Standing": 1}, {"reason": ""}), "reason", "This field is required."),
        (({"Standing": 1}, {"hold_id": ""}), "top", "Open this page again"),
        (({"Standing": 1}, {"hold_id": "x"}), "top", "Open this page again"),
        (
            ({"Standing": 1}, {"hold_id": str(uuid5(UUID(int=1), "x"))}),
            "top",
            "Open this page again",
        ),
        (({}, {"seats": "Stalls A 1"}), "seats", "There is no seat STALLS A 1 in this session."),
        (({}, {"seats": "B 1"}), "seats", "Several blocks have a seat B 1: name the block, too."),
        (({}, {"seats": "A 1, A1"}), "seats", "Name each seat only once."),
        (({}, {"seats": "A 1-50, B 1-50, C 1-50, D 1-50, E 1-51"}), "seats", "at most 250 seats."),
        (
            ({}, {"seats": "A 1", "seats_as": str(UUID(int=1))}),
            "seats_as",
            "Select a valid choice.",
        ),
    ],
)
def test_wrong_input_is_told_at_its_field(
    operator: Client,
    desk: Desk,
    wanted: Wanted,
    field: str,
    told: str,
) -> None:
    if field == "Standing":
        desk = another(desk, replace(PLAN, hall=NO_HALL))
    found = errors(operator, desk.venue, entered(desk.venue, wanted[0], **wanted[1]))
    assert list(found) == [field]
    assert told in found[field]
    assert not desk.world.all_holds(desk.venue)


def test_nobody_joins_the_waitlist_unasked(operator: Client, desk: Desk) -> None:
    placed(desk.engine, desk.venue.place(("Standing", 4), holder=STRANGER))
    form = entered(desk.venue, {"Standing": 2})
    assert "may_wait" not in operator.get(url(desk.venue)).content.decode()
    answer = operator.post(url(desk.venue), {**form, "confirm": "1"})
    told = errors_in(answer.content.decode(), desk.venue)["Standing"]
    assert "but it was sold out. Nothing was changed. The customer can join the waitlist" in told
    assert 'name="may_wait"' in answer.content.decode()
    assert len(desk.world.all_holds(desk.venue)) == 1
    form["may_wait"] = "on"
    asked = text_of(operator.post(url(desk.venue), form))
    assert "If there is nothing left, the customer joins the waitlist instead." in asked
    assert "There is nothing left. On the waitlist until" in confirmed(operator, desk.venue, form)
    party = desk.world.hold(desk.venue, HoldId(UUID(form["hold_id"])))
    assert party.status is HoldStatus.WAITING
    assert f"Joined the waitlist by operator {NAME} at the desk" in desk.page(operator, party)


def test_the_waitlist_is_offered_only_where_it_may_help(operator: Client, desk: Desk) -> None:
    placed(desk.engine, desk.venue.seats("Parterre A 1", holder=STRANGER))
    told = errors(operator, desk.venue, entered(desk.venue, seats="Parterre A 1"))
    assert "waitlist" not in told["seats"]
    without = another(desk, replace(PLAN, policy=HoldPolicy(600)))
    placed(desk.engine, without.venue.place(("Standing", 4), holder=STRANGER))
    told = errors(operator, without.venue, entered(without.venue, {"Standing": 1}))
    assert told["Standing"].endswith("sold out. Nothing was changed.")


def test_without_an_answer_the_form_can_be_sent_again(
    operator: Client, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unanswered(_: Command) -> Future[Answer]:
        return Future()

    form = entered(desk.venue, {"Standing": 1})
    with monkeypatch.context() as broken:
        broken.setattr(AdminConfig.services, "submit", SimpleNamespace(submit=unanswered))
        broken.setattr(AdminConfig.services, "deadline_seconds", -5)
        told = errors(operator, desk.venue, form)["top"]
        assert "Try again: this makes no second hold." in told
        assert "Nothing was changed" not in told
    assert "Held until" in confirmed(operator, desk.venue, form)


@pytest.mark.parametrize("role", list(Role))
def test_support_and_above_may_sell(database_url: str, desk: Desk, role: Role) -> None:
    client, venue = member(database_url, desk.venue, role), desk.venue
    is_allowed = role is not Role.VIEWER
    page = client.get(f"/admin/holdfast/session/{venue.session_id}/change/").content.decode()
    assert (url(venue) in page) is is_allowed
    assert client.get(url(venue)).status_code == (200 if is_allowed else 403)
    form = {**entered(venue, {"Standing": 1}), "confirm": "1"}
    assert client.post(url(venue), form).status_code == (302 if is_allowed else 403)
    assert len(desk.world.all_holds(venue)) == is_allowed
    hold = placed(desk.engine, venue.place(("Standing", 1), holder=ANN))
    assert (desk.url(hold, "pay") in client.get(desk.url(hold, "change")).content.decode()) is (
        is_allowed
    )
    seen = {"version": 1, "total_minor": hold.total.minor}
    paid = client.post(desk.url(hold, "pay"), {"payment_reference": "r1", "reason": "cash", **seen})
    assert paid.status_code == (302 if is_allowed else 403)
    assert desk.now(hold).is_converted() is is_allowed


@pytest.mark.parametrize("is_other_mode", [False, True])
def test_sessions_of_others_and_of_the_other_mode_are_not_found(
    database_url: str, desk: Desk, is_other_mode: bool
) -> None:
    """The live and the test side are two organizations of one account."""
    other = desk.world.build(replace(PLAN, event_id=EventId(uuid7())))
    if is_other_mode:
        with desk.world.connected() as connection:
            connection.execute(
                "UPDATE organization SET mode = 'test', account_id = (SELECT account_id FROM"
                " organization WHERE id = %s) WHERE id = %s",
                [other.organization_id, desk.venue.organization_id],
            )
    client = member(database_url, other, "owner")
    hold = placed(desk.engine, desk.venue.place(("Standing", 1), holder=ANN))
    pay = {"payment_reference": "r1", "reason": "cash", "version": 1}
    form = {**entered(desk.venue, {"Standing": 1}), "confirm": "1"}
    for path, given in ((url(desk.venue), form), (desk.url(hold, "pay"), pay)):
        assert client.get(path).status_code == 404
        assert client.post(path, given).status_code == 404
    assert desk.world.all_holds(desk.venue) == [hold]
