"""The actions on the page of a hold: what they say before the click, what they do, and how they
tell of a refusal."""

from collections.abc import Iterator
from concurrent.futures import Future
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client

from holdfast.domain.access.roles import Role
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import CheckoutStarted
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.placement import SEATS_PER_HOLD_MAX
from holdfast.domain.values import EmailAddress, Holder
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.holds.seat_names import names_in, runs_of
from holdfast.ports.engine import Answer
from tests.contract.asking import placed, waiting
from tests.contract.venues import STRANGER
from tests.pages.conftest import NAME
from tests.pages.desk import Desk, opened, text_of
from tests.pages.sales import Sale
from tests.pages.staff import browser_of
from tests.support.people import PASSWORD, add_staff

ANN = Holder(EmailAddress("ann@example.com"))
NAMES = ("pay", "extend", "move", "release", "expire", "remove")


@pytest.fixture
def desk(database_url: str, sale: Sale, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """After the sale, whose services know no engine."""
    yield from opened(database_url, monkeypatch)


@pytest.fixture
def hold(desk: Desk) -> Hold:
    return placed(desk.engine, desk.venue.seats("Parterre A 1", "Parterre A 2", holder=ANN))


def member(database_url: str, desk: Desk, role: Role) -> Client:
    hashed = MD5PasswordHasher().encode(PASSWORD, "s" * 32)
    return browser_of(add_staff(database_url, str(desk.venue.organization_id), role, hashed))


def buttons(client: Client, desk: Desk, hold: Hold) -> list[str]:
    html = client.get(desk.url(hold, "change")).content.decode()
    return [name for name in NAMES if f"/hold/{hold.id}/{name}/" in html]


def test_the_buttons_fit_the_state_of_the_hold(operator: Client, desk: Desk, hold: Hold) -> None:
    assert buttons(operator, desk, hold) == ["pay", "extend", "move", "release", "expire"]
    standing = placed(desk.engine, desk.venue.place(("Standing", 4), holder=ANN))
    assert buttons(operator, desk, standing) == ["pay", "extend", "release", "expire"]
    party = waiting(desk.engine, desk.venue.place(("Standing", 1), holder=STRANGER))
    assert buttons(operator, desk, party) == ["remove"]
    desk.ask(desk.venue.release(hold.id))
    assert buttons(operator, desk, hold) == []
    desk.world.let_pass(desk.venue, 601)
    assert buttons(operator, desk, standing) == []


@pytest.mark.parametrize("role", list(Role))
def test_a_viewer_sees_no_buttons_and_may_not_act(
    database_url: str, desk: Desk, hold: Hold, role: Role
) -> None:
    client = member(database_url, desk, role)
    is_allowed = role is not Role.VIEWER
    assert bool(buttons(client, desk, hold)) is is_allowed
    for name in NAMES[:5]:
        assert client.get(desk.url(hold, name)).status_code == (200 if is_allowed else 403)
        if not is_allowed:
            form = {"reason": "x", "version": 1, "minutes": 5}
            assert client.post(desk.url(hold, name), form).status_code == 403
    assert desk.now(hold) == hold


def test_somebody_elses_hold_is_not_found(database_url: str, desk: Desk, hold: Hold) -> None:
    other = desk.world.venue({}, {})
    hashed = MD5PasswordHasher().encode(PASSWORD, "s" * 32)
    client = browser_of(add_staff(database_url, str(other.organization_id), "owner", hashed))
    for name in NAMES:
        assert client.get(desk.url(hold, name)).status_code == 404
        assert client.post(desk.url(hold, name), {"reason": "x", "version": 1}).status_code == 404
    assert desk.now(hold) == hold


def test_the_consequence_is_stated_before_the_click(
    operator: Client, desk: Desk, hold: Hold
) -> None:
    release = text_of(operator.get(desk.url(hold, "release")))
    assert "Frees 2 seats in Parterre immediately. Nobody is on the waitlist" in release
    assert "a***@example.com gets an e-mail, if e-mails are turned on." in release
    extend = text_of(operator.get(desk.url(hold, "extend")))
    assert f"Keeps 2 seats in Parterre for a***@example.com beyond {_end(hold)}" in (extend)
    assert "The buyer gets no e-mail." in extend
    expire = text_of(operator.get(desk.url(hold, "expire")))
    assert "Frees 2 seats in Parterre immediately, as if the time were up." in expire
    assert "may still pay late if the policy allows it" in expire
    move = text_of(operator.get(desk.url(hold, "move")))
    assert f"The total stays 90.00 EUR, and the hold still ends at {_end(hold)} UTC." in move
    assert "ann@example.com" not in release + extend + expire + move


def _end(hold: Hold) -> str:
    return f"{hold.expires_at:%Y-%m-%d %H:%M:%S}"


def test_the_consequence_names_mixed_places_and_the_waitlist(operator: Client, desk: Desk) -> None:
    venue = desk.venue
    both = placed(
        desk.engine,
        venue.place(venue.these("Box B 1"), venue.these("Parterre A 1"), ("Standing", 4)),
    )
    party = waiting(desk.engine, venue.place(("Standing", 1), holder=ANN))
    text = text_of(operator.get(desk.url(both, "release")))
    assert "Frees 1 seat in Box, 1 seat in Parterre and 4 tickets (Standing) immediately." in text
    assert "Parties on the waitlist who want them come first, in their order." in text
    text = text_of(operator.get(desk.url(party, "remove")))
    assert "Takes a***@example.com off the waitlist, now at position 1 for 1 ticket" in text


def test_the_consequence_names_the_waitlist_for_these_places_only(
    operator: Client, desk: Desk, hold: Hold
) -> None:
    standing = placed(desk.engine, desk.venue.place(("Standing", 4), holder=STRANGER))
    waiting(desk.engine, desk.venue.place(("Standing", 1), holder=ANN))
    for name in ("release", "expire", "move"):
        seated = text_of(operator.get(desk.url(hold, name)))
        assert "Nobody is on the waitlist for them, so they go back on sale." in seated, name
    for name in ("release", "expire"):
        assert "Parties on the waitlist who want them come first" in text_of(
            operator.get(desk.url(standing, name))
        )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("event SET status = 'cancelled'", "The sale is over, so nobody else can buy them."),
        ("event SET sale_ends_at = now()", "The sale is over, so nobody else can buy them."),
        ("session SET status = 'cancelled'", "The sale is over, so nobody else can buy them."),
        ("session SET starts_at = now()", "They go back on sale."),
        ("event SET status = 'draft'", "They can be bought once the event is published."),
        (
            "event SET sale_starts_at = now() + interval '1 day'",
            "Parties on the waitlist who want them come first once the sale opens, in their order.",
        ),
    ],
)
def test_the_consequence_depends_on_the_sale(
    operator: Client, desk: Desk, sale: Sale, change: str, said: str
) -> None:
    hold = placed(desk.engine, desk.venue.place(("Standing", 4), holder=STRANGER))
    waiting(desk.engine, desk.venue.place(("Standing", 1), holder=ANN))
    query = f"UPDATE {change} WHERE organization_id = %s"
    sale.owner.execute(query.encode(), [hold.organization_id])
    # Another test's server may have ended the waitlist already.
    alone = said.replace("Parties on the waitlist who want them come first", "they go back on sale")
    text = text_of(operator.get(desk.url(hold, "release")))
    assert said in text or alone.removesuffix(", in their order.") in text


def test_a_hold_is_extended_beyond_the_policy(operator: Client, desk: Desk, hold: Hold) -> None:
    told = desk.confirm(operator, hold, "extend", minutes=120)
    after = desk.now(hold)
    assert after.expires_at == hold.expires_at + timedelta(hours=2)
    assert f"Extended until {_end(after)} UTC." in told
    action, actor, acting, new = desk.audited(hold)[-1]
    assert (action, actor, acting) == ("hold.extended", f"operator:{NAME}", NAME)
    assert (new["reason"], new["as_operator"]) == ("buyer called", True)
    assert f"Extended by 120 minutes by operator {NAME}: buyer called" in told


def test_a_hold_is_released(operator: Client, desk: Desk, hold: Hold) -> None:
    told = desk.confirm(operator, hold, "release")
    assert desk.now(hold).is_cancelled()
    assert "Released. Its places are free." in told
    assert f"Released by operator {NAME}: buyer called" in told
    placed(desk.engine, desk.venue.seats("Parterre A 1", holder=STRANGER))


def test_a_hold_is_expired_at_once(operator: Client, desk: Desk, hold: Hold) -> None:
    told = desk.confirm(operator, hold, "expire")
    assert desk.now(hold).status == "expired"
    assert f"Ended early as expired by operator {NAME}: buyer called" in told


def test_a_party_is_removed_from_the_waitlist(operator: Client, desk: Desk) -> None:
    placed(desk.engine, desk.venue.place(("Standing", 4), holder=STRANGER))
    party = waiting(desk.engine, desk.venue.place(("Standing", 1), holder=ANN))
    page = text_of(operator.get(desk.url(party, "remove")))
    assert "Remove from the waitlist" in page
    told = desk.confirm(operator, party, "remove")
    assert desk.now(party).is_cancelled()
    assert f"Removed from the waitlist by operator {NAME}: buyer called" in told


def test_the_next_party_gets_released_places_but_not_the_reason(
    operator: Client, desk: Desk
) -> None:
    held = placed(desk.engine, desk.venue.place(("Standing", 4), holder=STRANGER))
    party = waiting(desk.engine, desk.venue.place(("Standing", 1), holder=ANN))
    desk.confirm(operator, held, "release", reason="paid by invoice")
    page = desk.page(operator, party)
    assert "Joined the waitlist by test" in page
    assert "Promoted from the waitlist" in page
    assert "paid by invoice" not in page
    assert "reason" not in desk.audited(party)[-1][3]


def seat_ids(desk: Desk, *names: str) -> list[str]:
    return [str(id_) for id_ in desk.venue.seat_ids(*names)]


def test_a_hold_is_moved_to_other_seats(operator: Client, desk: Desk, hold: Hold) -> None:
    old = seat_ids(desk, "Parterre A 1", "Parterre A 2")
    told = desk.confirm(
        operator, hold, "move", old=old, new="parterre b 3, Parterre, row B, seat 4"
    )
    after = desk.now(hold)
    assert desk.venue.names_of(after) == ["Parterre B 3", "Parterre B 4"]
    assert after.expires_at == hold.expires_at
    assert "Moved. The hold now has 2 seats in Parterre." in told
    assert f"Moved to other seats by operator {NAME}: buyer called" in told
    assert "Earlier lines" in told


def test_only_the_chosen_seats_move(operator: Client, desk: Desk, hold: Hold) -> None:
    desk.confirm(operator, hold, "move", old=seat_ids(desk, "Parterre A 2"), new="A3")
    assert desk.venue.names_of(desk.now(hold)) == ["Parterre A 1", "Parterre A 3"]


def test_the_page_lists_free_seats_that_are_sold_as_the_same_type(
    operator: Client, desk: Desk, hold: Hold
) -> None:
    placed(desk.engine, desk.venue.seats("Parterre A 4", holder=STRANGER))
    page = text_of(operator.get(desk.url(hold, "move")))
    assert "Row A: 3, 5-6" in page
    assert "Row B: 1-6" in page
    assert "Free seats Parterre" in page
    assert "Box" not in page.partition("Free seats")[2]


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ("Parterre B 3", "Name 2 seats, not 1."),
        ("Parterre B 3, Parterre B 99", "There is no seat PARTERRE B 99 in this session."),
        ("B 1, A 3", "Several blocks have a seat B 1: name the block, too."),
        ("A 3, Parterre A 3", "Name each seat only once."),
        ("Box B 1-2", "This ticket type is not sold for this seat. Nothing was changed."),
        ("A 1-2", "The hold already has this seat. Nothing was changed."),
        ("A 3-4", "Parterre, row A, seat 4 is held. Nothing was changed."),
    ],
)
def test_seats_that_cannot_be_had_are_refused_in_words(
    operator: Client, desk: Desk, hold: Hold, new: str, told: str
) -> None:
    placed(desk.engine, desk.venue.seats("Parterre A 4", holder=STRANGER))
    old = seat_ids(desk, "Parterre A 1", "Parterre A 2")
    assert told in desk.confirm(operator, hold, "move", old=old, new=new)
    assert desk.now(hold) == hold


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("release", {"reason": ""}), "This field is required."),
        (("extend", {"minutes": "0"}), "greater than or equal to 1"),
        (("extend", {"minutes": "99999"}), "less than or equal to 10080"),
        (("extend", {"minutes": "soon"}), "Enter a whole number."),
        (("move", {"new": "A 3"}), "This field is required."),
        (("release", {"version": ""}), "Open this page again from the page of the hold."),
    ],
)
def test_invalid_input_changes_nothing(
    operator: Client, desk: Desk, hold: Hold, given: tuple[str, dict[str, Any]], told: str
) -> None:
    name, fields = given
    assert told in desk.confirm(operator, hold, name, **fields)
    assert desk.now(hold) == hold


def test_of_two_operators_the_second_is_told(
    database_url: str, operator: Client, desk: Desk, hold: Hold
) -> None:
    other = member(database_url, desk, Role.SUPPORT)
    desk.confirm(other, hold, "release", reason="duplicate")
    released = desk.now(hold)
    for name, more in (("release", {}), ("expire", {}), ("extend", {"minutes": 5})):
        told = desk.confirm(operator, hold, name, seen=1, **more)
        assert "Nothing was changed, because the hold is no longer as you saw it. At " in told
        at = f"{released.cancelled_at:%Y-%m-%d %H:%M:%S}"
        assert f"{at} UTC: released by member staff-" in told
        assert ": duplicate." in told
    assert desk.now(hold) == released


def test_a_stale_version_is_refused_and_can_be_confirmed_again(
    operator: Client, desk: Desk, hold: Hold
) -> None:
    desk.confirm(operator, hold, "extend", minutes=5, reason="slow bank")
    changed = desk.now(hold)
    told = desk.confirm(operator, hold, "release", seen=1)
    assert "Nothing was changed, because the hold is no longer as you saw it." in told
    assert f"extended by 5 minutes by operator {NAME}: slow bank" in told
    assert "Frees 2 seats in Parterre immediately." in told, "the form is shown again"
    assert desk.now(hold) == changed
    desk.confirm(operator, hold, "release", seen=changed.version)
    assert desk.now(hold).is_cancelled()


def test_a_warning_to_the_buyer_does_not_make_the_version_stale(
    operator: Client, desk: Desk, hold: Hold
) -> None:
    desk.world.let_pass(desk.venue, 550)
    desk.ask(desk.venue.warn(hold.id))
    assert desk.now(hold).version == 2
    told = desk.confirm(operator, hold, "extend", seen=1, minutes=5)
    assert "Extended until" in told
    assert "About to expire" in told
    again = desk.confirm(operator, hold, "extend", seen=1, minutes=5)
    assert "the hold is no longer as you saw it" in again, "control: a real change"


def test_the_form_that_is_shown_again_has_the_current_version(
    operator: Client, desk: Desk, hold: Hold
) -> None:
    desk.confirm(operator, hold, "extend", minutes=5)
    form = {"reason": "buyer called", "version": 1}
    html = operator.post(desk.url(hold, "release"), form).content.decode()
    assert 'name="version" value="2"' in html


def test_without_an_answer_nobody_claims_that_nothing_happened(
    operator: Client, desk: Desk, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unanswered(_: Command) -> Future[Answer]:
        return Future()

    monkeypatch.setattr(AdminConfig.services, "submit", SimpleNamespace(submit=unanswered))
    monkeypatch.setattr(AdminConfig.services, "deadline_seconds", -5)
    told = desk.confirm(operator, hold, "release")
    assert "Please try again. Look at the history of the hold first." in told
    assert "Nothing was changed" not in told


def test_an_expired_hold_is_told(operator: Client, desk: Desk, hold: Hold) -> None:
    desk.world.let_pass(desk.venue, 601)
    end = _end(desk.now(hold))
    for name in ("extend", "release"):
        told = desk.confirm(operator, hold, name, minutes=5)
        # The reaper of another test's server may have recorded it meanwhile.
        assert "Nothing was changed" in told
        assert f"The hold expired at {end} UTC" in told or ": expired." in told
    shown = text_of(operator.get(desk.url(hold, "extend"), follow=True))
    assert "Nothing was changed" in shown


def test_the_history_is_told_in_words(operator: Client, desk: Desk, hold: Hold) -> None:
    venue = desk.venue
    desk.ask(venue.extend(hold.id, 90, holder=ANN))
    assert isinstance(desk.ask(venue.check_out(hold.id, holder=ANN)), CheckoutStarted)
    desk.ask(venue.convert(hold.id))
    text = desk.page(operator, hold)
    history = [
        "Placed by test",
        "Extended by 1 minute and 30 seconds by test",
        "Extended at checkout by 5 minutes by test",
        "Paid by test",
    ]
    places = [text.index(step) for step in history]
    assert places == sorted(places)
    assert f"{hold.created_at:%Y-%m-%d %H:%M:%S} Placed by test" in text


def test_a_cart_that_changes_and_expires_is_told(operator: Client, desk: Desk) -> None:
    venue = desk.venue
    cart = placed(desk.engine, venue.fill("cart", {"item": ("Standing", 2)}, holder=ANN))
    desk.ask(venue.fill("cart", {"item": ("Standing", 3)}, holder=ANN))
    desk.world.let_pass(venue, 601)
    desk.ask(venue.expire(cart.id))
    desk.ask(venue.extend(cart.id, 60, is_operator=True))
    text = desk.page(operator, cart)
    assert "Changed from 2 to 3 tickets by test" in text
    assert "Expired" in text


def test_refused_attempts_are_told_with_their_reason(
    operator: Client, desk: Desk, hold: Hold, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "INSERT INTO audit (organization_id, at, action, hold_id, actor, request_id, new)"
            " VALUES (%s, now(), 'hold.release_failed', %s, 'operator:bea', 'request-1', %s)",
            [hold.organization_id, hold.id, '{"error": "hold_changed", "current_version": 2}'],
        )
    assert "Release refused (tried by operator bea): Hold changed" in desk.page(operator, hold)


def test_a_viewer_sees_the_history_without_names(
    database_url: str, operator: Client, desk: Desk, hold: Hold
) -> None:
    desk.confirm(operator, hold, "extend", minutes=3)
    desk.confirm(operator, hold, "expire", reason="duplicate")
    page = desk.page(member(database_url, desk, Role.VIEWER), hold)
    for step in ("Placed", "Extended by 3 minutes", "Ended early as expired"):
        assert step in page
    for secret in (NAME, "duplicate", "buyer called"):
        assert secret not in page


def test_a_long_history_is_cut_off(operator: Client, desk: Desk, hold: Hold) -> None:
    for _ in range(60):
        desk.ask(desk.venue.extend(hold.id, 60, is_operator=True, holder=ANN))
    html = operator.get(desk.url(hold, "change")).content.decode()
    assert html.count("<time ") == 50
    assert "Only the latest steps are shown here." in html


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("parterre b 12", ["PARTERRE B 12"]),
        (" Parterre,  row B, seat 12 ; B7", ["PARTERRE B 12", "B7"]),
        ("Parterre B 12-14, C 1", ["PARTERRE B 12", "PARTERRE B 13", "PARTERRE B 14", "C 1"]),
        (",, ;", []),
    ],
)
def test_seats_are_named_as_people_write_them(text: str, names: list[str]) -> None:
    assert list(names_in(text)) == names


def test_a_number_alone_is_in_the_row_of_the_name_before() -> None:
    assert list(names_in("Parterre B 12, 13, 15-16")) == [
        *("PARTERRE B 12", "PARTERRE B 13", "PARTERRE B 15", "PARTERRE B 16"),
    ]
    assert list(names_in("A3, 4; Box, row C, seat 1, 2")) == ["A3", "A4", "BOX C 1", "BOX C 2"]
    assert list(names_in("7, 8")) == ["7", "8"]


def test_a_huge_range_is_cut_off() -> None:
    assert len(list(names_in("A 1-999999999"))) == SEATS_PER_HOLD_MAX + 1


def test_free_seats_are_listed_in_runs() -> None:
    assert runs_of([("1", 1), ("2", 2), ("3", 4), ("5", 5), ("B", 6)]) == "1-2, 3, 5, B"
