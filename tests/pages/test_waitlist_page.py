"""The waitlist of a session: what blocks its parties, and what staff do about it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from unittest.mock import Mock
from uuid import UUID, uuid4

import pytest
from django.test import Client
from uuid_utils.compat import uuid7

from holdfast.domain import refusals
from holdfast.domain.group.footprint import Proposal
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Explained, Placed, Waiting
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import Ask
from holdfast.domain.ids import HoldId, OrganizationId, SessionId, TicketTypeId
from holdfast.domain.values import EmailAddress, Holder, Quantity
from holdfast.domain.waitlist.obstacles import Explanation, Obstacle
from holdfast.engine import Admission
from holdfast.entrypoints.admin import snapshots
from tests.pages.sales import Sale, insert, page
from tests.pages.staff import browser_of, hire
from tests.pages.test_waiting import in_order, words_of
from tests.support.patience import PATIENCE_SECONDS

ANN, BOB, EVE = (f"{name}@example.com" for name in ("ann", "bob", "eve"))


@dataclass(frozen=True)
class Desk:
    """A sale with a waitlist whose first party is blocked, so that no promoter serves it: Ann needs
    4 tickets, Bob needs 1, both from two pools. 2 of the venue's 4 places are held, and 1 place for
    adults is left."""

    sale: Sale
    engine: Admission
    venue_id: UUID
    ann: UUID
    bob: UUID

    @property
    def path(self) -> str:
        return f"waitlist/{self.sale.session_id}/change/"

    def action(self, name: str, hold_id: UUID | None = None) -> str:
        party = "" if hold_id is None else f"{hold_id}/"
        return f"/admin/holdfast/waitlist/{self.sale.session_id}/{party}{name}/"

    def place(self, email: str, quantity: int) -> UUID:
        hold_id = HoldId(UUID(str(uuid7())))
        command = PlaceHold(
            OrganizationId(self.sale.organization_id),
            SessionId(self.sale.session_id),
            hold_id,
            Holder(EmailAddress(email)),
            (Ask(TicketTypeId(self.sale.ticket_type_id), Quantity(quantity)),),
            Origin("test", str(uuid7())),
        )
        outcome = self.engine.submit(command).result(PATIENCE_SECONDS).outcome
        assert isinstance(outcome, Placed | Waiting), outcome
        return hold_id

    def status(self, hold_id: UUID) -> str:
        return str(self.one("SELECT status FROM hold WHERE id = %s", hold_id))

    def reference(self, hold_id: UUID) -> str:
        return str(self.one("SELECT reference FROM hold WHERE id = %s", hold_id))

    def one(self, query: str, *values: object) -> object:
        found = self.sale.owner.execute(query.encode(), values).fetchone()
        assert found is not None
        return found[0]


@pytest.fixture(autouse=True)
def uncached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "KEPT_SECONDS_MIN", 0.0)
    monkeypatch.setattr(snapshots, "KEPT_PER_SECOND_COUNTED", 0.0)


@pytest.fixture
def desk(sale: Sale, engine: Admission) -> Desk:
    own = {"organization_id": sale.organization_id}
    venue_id = uuid4()
    sale.owner.execute(
        "UPDATE pool SET name = 'Adults', total = 18, held = 10, sold = 5 WHERE id = %s",
        [sale.pool_id],
    )
    sale.owner.execute("DELETE FROM pool_lapse WHERE pool_id = %s", [sale.pool_id])
    insert(
        sale.owner, "pool", **own, id=venue_id, session_id=sale.session_id, name="Venue", total=4
    )
    insert(
        sale.owner, "ticket_type_pool", **own, ticket_type_id=sale.ticket_type_id, pool_id=venue_id
    )
    sale.owner.execute(
        "UPDATE ticket_type SET waitlist = true WHERE id = %s", [sale.ticket_type_id]
    )
    sale.owner.execute("UPDATE session SET version = version + 1 WHERE id = %s", [sale.session_id])
    empty = Desk(sale, engine, venue_id, uuid4(), uuid4())
    empty.place(EVE, 2)
    ann, bob = empty.place(ANN, 4), empty.place(BOB, 1)
    return Desk(sale, engine, venue_id, ann, bob)


def reason(text: str = "She called the box office", version: int = 1) -> dict[str, object]:
    return {"reason": text, "version": version}


def test_the_page_says_which_pools_block_the_first(operator: Client, desk: Desk) -> None:
    text = words_of(page(operator, desk.path))
    needs = "Needs 4 tickets; 1 is free in Adults, and 2 are free in Venue."
    assert needs in text
    assert "For Adults, Venue" in text
    assert "Waits behind the first party of its queue." in text
    assert in_order(text, "Parties in the order of arrival", "4 Adult", "1 Adult")
    assert ANN not in text
    assert "a***@example.com" in text


def test_many_viewers_ask_the_engine_once_until_the_waitlist_changes(
    operator: Client, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An explanation costs as much as a promotion, under the same locks."""
    parties = import_module("holdfast.entrypoints.admin.waitlist.parties")
    explain = Mock(side_effect=parties._explain)
    monkeypatch.setattr(parties, "_explain", explain)

    def asked_in(views: int) -> int:
        explain.reset_mock()
        for _ in range(views):
            page(operator, desk.path)
        return explain.call_count

    assert asked_in(3) == 3, "control: nothing is kept"
    monkeypatch.setattr(snapshots, "KEPT_SECONDS_MIN", 60.0)
    asked_in(1)
    assert asked_in(3) == 0
    desk.place(EVE, 1)
    assert asked_in(3) == 1


def test_a_full_pool_is_named(operator: Client, desk: Desk) -> None:
    desk.sale.owner.execute("UPDATE pool SET total = 2 WHERE id = %s", [desk.venue_id])
    text = words_of(page(operator, desk.path))
    assert "only 2 of Venue are unsold. Those behind it go first." in text, "it never fits"
    desk.sale.owner.execute("UPDATE pool SET total = 4, held = 4 WHERE id = %s", [desk.venue_id])
    text = words_of(page(operator, desk.path))
    assert "Needs 4 tickets; 1 is free in Adults, and Venue is full." in text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("sale_ends_at = now() - interval '1 minute'", "The sale has ended."),
        ("status = 'cancelled'", "The event or this session was cancelled."),
        (
            "sale_starts_at = '2031-05-06 07:08:09+00'",
            "The sale is paused until 2031-05-06 07:08:09 UTC.",
        ),
    ],
)
def test_a_closed_sale_is_named(operator: Client, desk: Desk, change: str, said: str) -> None:
    query = f"UPDATE event SET {change} WHERE organization_id = %s"
    desk.sale.owner.execute(query.encode(), [desk.sale.organization_id])
    desk.sale.owner.execute(
        "UPDATE session SET version = version + 1 WHERE id = %s", [desk.sale.session_id]
    )
    # Another test's server may have ended the waitlist already.
    text = words_of(page(operator, desk.path))
    assert said in text or "The waitlist is empty." in text


def test_a_long_waitlist_has_pages(
    operator: Client, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.entrypoints.admin.waitlist import parties

    monkeypatch.setattr(parties, "PARTIES_PER_PAGE", 2)
    third, fourth, fifth = (desk.place(f"guest-{n}@example.com", 1) for n in range(3))
    first = operator.get(f"/admin/holdfast/{desk.path}").content.decode()
    assert desk.reference(third) not in first
    following = first.partition('href="?after=')[2].partition('"')[0]
    second = page(operator, f"{desk.path}?after={following}")
    assert in_order(second, desk.reference(third), desk.reference(fourth))
    assert desk.reference(fifth) not in second
    assert "3." in words_of(second)
    assert "Back to the start" in second
    following = second.partition('href="?after=')[2].partition('"')[0]
    assert desk.reference(fifth) in page(operator, f"{desk.path}?after={following}")


@pytest.mark.parametrize("after", ["x", "1_2_3", "-5_2026-01-01_", "1_2026-01-01T00:00:00_nobody"])
def test_a_link_to_nowhere_shows_the_start(operator: Client, desk: Desk, after: str) -> None:
    assert desk.reference(desk.ann) in page(operator, desk.path, after=after)


def test_a_party_is_promoted_out_of_turn(operator: Client, desk: Desk) -> None:
    asked = words_of(operator.get(desk.action("promote", desk.bob)).content.decode())
    assert "Gives 1 ticket to b***@example.com at once." in asked
    assert "b***@example.com gets an e-mail, if e-mails are turned on." in asked
    assert "It is at position 2. The parties before it are overtaken" in asked
    done = operator.post(desk.action("promote", desk.bob), reason(), follow=True)
    text = words_of(done.content.decode())
    assert f"{desk.reference(desk.bob)} has its tickets until" in text
    assert "Overtaken 1 time." in text
    assert (desk.status(desk.ann), desk.status(desk.bob)) == ("waiting", "active")
    recorded = desk.one(
        "SELECT actor || ' ' || (new ->> 'reason') || ' ' || (new ->> 'overtaken_queues')"
        " FROM audit WHERE hold_id = %s AND action = 'hold.promoted'",
        desk.bob,
    )
    assert recorded == "operator:head-of-desk She called the box office 1"


def test_a_promotion_without_places_is_refused_in_words(operator: Client, desk: Desk) -> None:
    answer = operator.post(desk.action("promote", desk.ann), reason())
    assert "Only 1 ticket(s) available." in answer.content.decode()
    assert desk.status(desk.ann) == "waiting"


def test_a_promotion_needs_a_reason(operator: Client, desk: Desk) -> None:
    answer = operator.post(desk.action("promote", desk.bob), reason(""))
    assert "This field is required." in answer.content.decode()
    assert desk.status(desk.bob) == "waiting"


def test_the_second_of_two_operators_is_told(operator: Client, desk: Desk) -> None:
    operator.post(desk.action("remove", desk.bob), reason())
    answer = operator.post(desk.action("promote", desk.bob), reason())
    assert 'role="alert"' in answer.content.decode()
    answer = operator.post(desk.action("remove", desk.bob), reason(), follow=True)
    assert "is cancelled, and no longer on the waitlist." in answer.content.decode()
    assert desk.status(desk.bob) == "cancelled"


def test_a_party_that_got_its_places_meanwhile_is_not_removed(operator: Client, desk: Desk) -> None:
    operator.post(desk.action("remove", desk.ann), reason())
    assert desk.status(desk.bob) == "active"
    where = desk.action("remove", desk.bob)
    for answer in (operator.get(where, follow=True), operator.post(where, reason(), follow=True)):
        assert "is active, and no longer on the waitlist." in answer.content.decode()
    assert desk.status(desk.bob) == "active"


@pytest.mark.parametrize("name", ["promote", "remove"])
def test_a_hold_that_changed_meanwhile_is_left_alone(
    operator: Client, desk: Desk, name: str
) -> None:
    answer = operator.post(desk.action(name, desk.bob), reason(version=7))
    assert "The hold has changed since you looked at it." in answer.content.decode()
    assert desk.status(desk.bob) == "waiting"


@pytest.mark.parametrize(("name", "status"), [("promote", "active"), ("remove", "cancelled")])
def test_it_can_be_confirmed_as_it_is_now(
    operator: Client, desk: Desk, name: str, status: str
) -> None:
    page = operator.post(desk.action(name, desk.bob), reason(version=7)).content.decode()
    version = page.partition('name="version" value="')[2].partition('"')[0]
    operator.post(desk.action(name, desk.bob), reason(version=int(version)))
    assert desk.status(desk.bob) == status


def test_how_many_are_served_may_not_be_known(
    operator: Client, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.entrypoints.admin.waitlist import parties

    monkeypatch.setattr(parties, "act", lambda _: refusals.service_unavailable())
    asked = words_of(operator.get(desk.action("serve")).content.decode())
    assert "How many is not known: places are being changed at this moment." in asked
    assert "0 parties" not in asked


def test_to_serve_a_waitlist_after_the_start_ends_it(
    operator: Client, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.entrypoints.admin.waitlist import parties

    # Another test's server may end the waitlist before the page is read.
    started = {HoldId(desk.ann): Explanation(Obstacle.SESSION_STARTED)}
    monkeypatch.setattr(parties, "act", lambda _: Explained(started, datetime.now(UTC)))
    desk.sale.owner.execute(
        "UPDATE session SET version = version + 1, starts_at = now() WHERE id = %s",
        [desk.sale.session_id],
    )
    asked = words_of(operator.get(desk.action("serve")).content.decode())
    assert "The session has started. The waitlist ends. Nobody is served any more" in asked
    assert "takes up to 32 parties off the waitlist for good" in asked
    assert "End the waitlist now" in asked
    done = words_of(operator.post(desk.action("serve"), reason(), follow=True).content.decode())
    assert "Nobody is served any more: the waitlist has ended." in done
    assert "Served:" not in done
    assert (desk.status(desk.ann), desk.status(desk.bob)) == ("cancelled", "cancelled")


def test_a_party_is_removed(operator: Client, desk: Desk) -> None:
    asked = words_of(operator.get(desk.action("remove", desk.ann)).content.decode())
    assert "Takes a***@example.com off the waitlist for 4 tickets." in asked
    assert "a***@example.com gets an e-mail, if e-mails are turned on." in asked
    done = operator.post(desk.action("remove", desk.ann), reason(), follow=True)
    assert "is no longer on the waitlist." in words_of(done.content.decode())
    assert (desk.status(desk.ann), desk.status(desk.bob)) == ("cancelled", "active"), (
        "those behind it move up"
    )
    recorded = desk.one(
        "SELECT actor || ' ' || (new ->> 'reason') FROM audit"
        " WHERE hold_id = %s AND action = 'hold.cancelled'",
        desk.ann,
    )
    assert recorded == "operator:head-of-desk She called the box office"


def test_the_waitlist_is_served_in_order(operator: Client, desk: Desk) -> None:
    asked = words_of(operator.get(desk.action("serve")).content.decode())
    assert "Those who gave an address get an e-mail, if e-mails are turned on." in asked
    assert "At this moment, these are 0 parties." in asked
    done = operator.post(desk.action("serve"), reason(), follow=True)
    assert "Served: 0 parties." in words_of(done.content.decode())
    desk.sale.owner.execute(
        "UPDATE pool SET total = 100 WHERE id IN (%s, %s)", [desk.venue_id, desk.sale.pool_id]
    )
    operator.post(desk.action("serve"), reason(), follow=True)
    assert (desk.status(desk.ann), desk.status(desk.bob)) == ("active", "active")
    recorded = desk.sale.owner.execute(
        "SELECT actor || ' ' || (new ->> 'reason') FROM audit"
        " WHERE session_id = %s AND action = 'waitlist.served'",
        [desk.sale.session_id],
    ).fetchall()
    assert recorded == [("operator:head-of-desk She called the box office",)] * 2


@pytest.mark.parametrize("role", ["support", "manager", "owner"])
def test_staff_who_help_buyers_may_promote_and_remove(
    desk: Desk, database_url: str, role: str
) -> None:
    browser = browser_of(hire(database_url, desk.sale, role))
    text = page(browser, desk.path)
    for name in ("Serve the waitlist now", "Promote", "Remove"):
        assert name in text
    browser.post(desk.action("promote", desk.bob), reason())
    browser.post(desk.action("remove", desk.ann), reason())
    assert (desk.status(desk.ann), desk.status(desk.bob)) == ("cancelled", "active")


def test_a_viewer_sees_the_reasons_and_may_change_nothing(desk: Desk, database_url: str) -> None:
    browser = browser_of(hire(database_url, desk.sale, "viewer"))
    text = page(browser, desk.path)
    assert "Needs 4 tickets" in text
    for name in ("Serve the waitlist now", "Promote", "Remove"):
        assert name not in text
    for address in (
        desk.action("serve"),
        desk.action("promote", desk.bob),
        desk.action("remove", desk.bob),
    ):
        assert browser.get(address).status_code == 403
        assert browser.post(address, reason()).status_code == 403
    assert desk.status(desk.bob) == "waiting"


def test_somebody_elses_waitlist_is_not_found(
    desk: Desk, database_url: str, operator: Client
) -> None:
    from tests.pages.sales import new_sale

    other = new_sale(desk.sale.owner)
    browser = browser_of(hire(database_url, other, "owner"))
    assert browser.get(desk.action("promote", desk.bob)).status_code == 404
    assert browser.post(desk.action("remove", desk.bob), reason()).status_code == 404
    own = f"/admin/holdfast/waitlist/{other.session_id}/{desk.bob}/remove/"
    assert operator.post(own, reason()).status_code == 404, "the hold is of another session"
    assert desk.status(desk.bob) == "waiting"


@pytest.mark.usefixtures("sale")
def test_a_party_that_nothing_blocks_shows_when_the_promoter_last_ran() -> None:
    from holdfast.entrypoints.admin.waitlist.words import Context, words

    stopped_at = datetime(2026, 5, 1, 12, 3, tzinfo=UTC)
    assert words(None, Context({})) == "Nothing blocks it: it is served within half a minute."
    assert words(None, Context({}, promoter_stopped_at=stopped_at)) == (
        "Nothing blocks it: the promoter has not run since 2026-05-01 12:03:00 UTC."
    )


@pytest.mark.usefixtures("sale")
def test_every_obstacle_has_words() -> None:
    from holdfast.entrypoints.admin.waitlist.words import Context, words

    type_id = TicketTypeId(uuid4())
    context = Context({type_id: "Student"})
    for obstacle in Obstacle:
        assert words(Explanation(obstacle, ticket_type_id=type_id), context).endswith("."), obstacle
    gone = words(Explanation(Obstacle.NOT_OFFERED, ticket_type_id=type_id), context)
    assert gone.startswith("Ticket type Student is no longer on sale.")
    apart = Proposal((), 2, 1, kind="seats side by side")
    assert words(Explanation(Obstacle.TOO_FEW_SEATS, seats=apart), context) == (
        "Not enough seats together: needs 2, none next to each other."
    )
