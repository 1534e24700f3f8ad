"""Events are created, changed, published, paused, resumed, archived and cancelled in the admin."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from uuid import UUID

import pytest

from holdfast.domain.mails.resend import PAYABLE_SECONDS_MIN
from holdfast.domain.policy import HoldPolicy
from tests.pages.catalog.conftest import Desk


def event_row(desk: Desk, event_id: object) -> Any:
    (row,) = desk.rows(
        "SELECT name, currency, status, sale_starts_at, sale_ends_at, ttl_seconds FROM event"
        " WHERE id = %s",
        event_id,
    )
    return row


def test_a_new_event_is_a_draft_with_its_window_in_local_time(desk: Desk) -> None:
    own = desk.sale.organization_id
    desk.rows("UPDATE organization SET time_zone = 'Europe/Berlin' WHERE id = %s RETURNING 1", own)
    form = desk.get(f"event/new/{own}/")
    assert "Time zone: Europe/Berlin" in form
    assert "If empty: 10 min, default" in form
    event_id = desk.event(
        name="River Stage",
        currency="eur",
        sale_starts_at="2030-07-01T10:00",
        sale_ends_at="2030-12-01T10:00",
        ttl_seconds="300",
        reason="New season",
    )
    summer, winter = datetime(2030, 7, 1, 8, tzinfo=UTC), datetime(2030, 12, 1, 9, tzinfo=UTC)
    expected = ("River Stage", "EUR", "draft", summer, winter, 300)
    assert event_row(desk, event_id) == expected
    ((actor, person, reason),) = desk.audited("event.created")
    assert actor.startswith("member:")
    assert (person, reason) == (desk.name, "New season")


@pytest.mark.parametrize(
    ("entered", "problem"),
    [
        ({"name": ""}, "This field is required"),
        ({"currency": "E1"}, "three-letter ISO 4217 code"),
        ({"sale_starts_at": "soon"}, "Enter a date and a time"),
        ({"sale_starts_at": "2030-02-01T10:00", "sale_ends_at": "2030-01-01T10:00"}, "before"),
        ({"ttl_seconds": "0"}, "greater than or equal to 1"),
        ({"ttl_seconds": "600", "lifetime_max_seconds": "60"}, "must not exceed"),
    ],
)
def test_wrong_input_is_explained_and_creates_nothing(
    desk: Desk, entered: dict[str, str], problem: str
) -> None:
    given = {"name": "River Stage", "currency": "EUR", **entered}
    page = desk.refused(f"event/new/{desk.sale.organization_id}/", **given)
    assert problem in page
    assert not desk.audited("event.created")


def test_a_time_that_clocks_skip_is_refused(desk: Desk) -> None:
    own = desk.sale.organization_id
    desk.rows("UPDATE organization SET time_zone = 'Europe/Berlin' WHERE id = %s RETURNING 1", own)
    given = {"name": "x", "currency": "EUR", "sale_starts_at": "2030-03-31T02:30"}
    assert "There is no 02:30 on 2030-03-31" in desk.refused(f"event/new/{own}/", **given)


class TestPlace:
    """The venue and the time zone of an event."""

    def of(self, desk: Desk, event_id: UUID) -> tuple[str | None, str | None]:
        ((venue, time_zone),) = desk.rows(
            "SELECT venue, time_zone FROM event WHERE id = %s", event_id
        )
        return venue, time_zone

    def test_it_is_created_edited_and_cleared(self, desk: Desk) -> None:
        form = unescape(desk.get(f"event/new/{desk.sale.organization_id}/"))
        assert "such as Europe/Berlin. Empty: UTC, the organization's." in form
        event_id = desk.event(venue="Harbour Hall, 1 Harbour Street", time_zone="Europe/Berlin")
        assert self.of(desk, event_id) == ("Harbour Hall, 1 Harbour Street", "Europe/Berlin")
        path = f"event/{event_id}/edit/"
        form = desk.get(path)
        assert 'value="Harbour Hall, 1 Harbour Street"' in form
        assert 'value="Europe/Berlin"' in form
        same = {"name": "Summer nights", "venue": "Harbour Hall, 1 Harbour Street"}
        desk.save(path, **same, time_zone="Australia/Sydney")
        assert self.of(desk, event_id) == ("Harbour Hall, 1 Harbour Street", "Australia/Sydney")
        desk.save(path, name="Summer nights")
        assert self.of(desk, event_id) == (None, None)
        changes = desk.rows(
            "SELECT old, new FROM audit WHERE catalog_id = %s AND action = 'event.changed'"
            " ORDER BY at",
            event_id,
        )
        assert [set(old) for old, _ in changes] == [{"time_zone"}, {"venue", "time_zone"}]

    @pytest.mark.parametrize(
        ("entered", "problem"),
        [
            (
                {"time_zone": "Mars/Olympus"},
                "Time zone must be the name of a time zone, such as Europe/Berlin.",
            ),
            ({"venue": "Harbour\x07Hall"}, "Venue must be 1 to 200 printable characters"),
            ({"venue": "x" * 201}, "at most 200 characters"),
        ],
    )
    def test_a_wrong_one_is_explained(
        self, desk: Desk, entered: dict[str, str], problem: str
    ) -> None:
        given = {"name": "River Stage", "currency": "EUR"}
        new = f"event/new/{desk.sale.organization_id}/"
        assert problem in desk.refused(new, **given, **entered)
        assert not desk.audited("event.created")
        event_id = desk.event(venue="Harbour Hall")
        assert problem in desk.refused(f"event/{event_id}/edit/", name="x", **entered)
        assert self.of(desk, event_id) == ("Harbour Hall", None)

    def test_times_of_sessions_are_entered_and_shown_in_the_zone_of_the_event(
        self, desk: Desk
    ) -> None:
        """Like those of the sale."""
        own = desk.sale.organization_id
        desk.rows(
            "UPDATE organization SET time_zone = 'Europe/Berlin' WHERE id = %s RETURNING 1", own
        )
        event_id = desk.event(time_zone="Australia/Sydney", sale_starts_at="2030-07-01T10:00")
        assert event_row(desk, event_id)[3] == datetime(2030, 7, 1, 0, tzinfo=UTC)
        form = desk.get(f"event/{event_id}/session/")
        assert "Time zone: Australia/Sydney." in form
        assert "Europe/Berlin" not in form
        session_id = desk.session(event_id, starts_at="2030-07-05T20:00")
        ((starts_at,),) = desk.rows("SELECT starts_at FROM session WHERE id = %s", session_id)
        assert starts_at == datetime(2030, 7, 5, 10, tzinfo=UTC)
        assert 'value="2030-07-05T20:00"' in desk.get(f"session/{session_id}/edit/")
        days = {"weekdays": ["5"], "first": "2030-07-06", "last": "2030-07-06", "times": "15:00"}
        listed = desk.refused(f"event/{event_id}/sessions/", **days)
        assert "Times are in Australia/Sydney." in listed
        desk.save(f"event/{event_id}/sessions/", **days, is_previewed="on")
        ((starts_at,),) = desk.rows(
            "SELECT starts_at FROM session WHERE event_id = %s AND id <> %s", event_id, session_id
        )
        assert starts_at == datetime(2030, 7, 6, 5, tzinfo=UTC)


def test_the_policy_says_which_warnings_are_never_mailed(desk: Desk) -> None:
    """By default, warnings come too late for an e-mail."""
    assert HoldPolicy().warning_seconds < PAYABLE_SECONDS_MIN == 120
    said = "With less than two minutes left, buyers get no e-mail about it: for e-mails, set it"
    event_id = desk.event()
    for path in (f"event/{event_id}/policy/", f"event/new/{desk.sale.organization_id}/"):
        (hint,) = re.findall(
            r"(?s)id_warning_seconds.*?(Time before expiry.*?)</div>", desk.get(path)
        )
        assert said in unescape(hint)


def test_only_changed_fields_are_changed(desk: Desk) -> None:
    event_id = desk.event(sale_ends_at="2030-12-01T10:00")
    form = desk.get(f"event/{event_id}/edit/")
    assert 'value="2030-12-01T10:00"' in form
    desk.save(f"event/{event_id}/edit/", name="Winter nights", sale_ends_at="2030-12-01T10:00")
    name, _, _, _, ends_at, _ = event_row(desk, event_id)
    assert (name, ends_at) == ("Winter nights", datetime(2030, 12, 1, 10, tzinfo=UTC))
    ((old, new),) = desk.rows(
        "SELECT old, new FROM audit WHERE catalog_id = %s AND action = 'event.changed'", event_id
    )
    assert old == {"name": "Summer nights"}
    assert new["name"] == "Winter nights"
    assert new["reason"] == "Event edited in the admin"


def test_somebody_who_saw_an_older_state_is_told(desk: Desk) -> None:
    event_id = desk.event()
    ((seen,),) = desk.rows("SELECT updated_at FROM event WHERE id = %s", event_id)
    desk.save(f"event/{event_id}/edit/", name="Changed by somebody", seen=seen.isoformat())
    again = {"name": "Changed again", "seen": seen.isoformat()}
    assert "Somebody else has changed this" in desk.refused(f"event/{event_id}/edit/", **again)
    assert event_row(desk, event_id)[0] == "Changed by somebody"


def test_an_event_is_published_paused_and_resumed(desk: Desk) -> None:
    event_id = desk.event()
    assert "The sale opens immediately" in desk.get(f"event/{event_id}/publish/")
    desk.save(f"event/{event_id}/publish/")
    shown = desk.get(f"event/{event_id}/change/")
    assert "Pause" in shown
    assert "/publish/" not in shown.split("catalog-offers")[1]
    pause = f"event/{event_id}/pause/"
    assert "can still pay" in desk.get(pause)
    until = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%dT%H:%M}"
    assert "This field is required" in desk.refused(pause, until=until)
    assert "in the future" in desk.refused(pause, until="2020-01-01T10:00", reason="Fire drill")
    desk.save(pause, until=until, reason="Fire drill")
    assert event_row(desk, event_id)[2:4] == (
        "published",
        datetime.fromisoformat(until).replace(tzinfo=UTC),
    )
    assert desk.audited("event.changed")[-1][1:] == (desk.name, "Fire drill")
    shown = desk.get(f"event/{event_id}/change/")
    assert "Not on sale until" in shown
    desk.save(f"event/{event_id}/resume/")
    assert event_row(desk, event_id)[3] is None


def test_a_pause_does_not_outlast_the_sale(desk: Desk) -> None:
    event_id = desk.event(sale_ends_at="2030-01-01T10:00")
    given = {"until": "2030-02-01T10:00", "reason": "x"}
    assert "The sale ends before that" in desk.refused(f"event/{event_id}/pause/", **given)


def test_cancelling_states_what_is_at_stake(desk: Desk) -> None:
    sale = desk.sale
    sale.place()
    sale.pay(sale.place(email=None, user_id="u1"))
    ((event_id,),) = sale.owner.execute(
        "SELECT event_id FROM session WHERE id = %s", [sale.session_id]
    ).fetchall()
    page = desk.get(f"event/{event_id}/cancel/")
    assert "has 1 live hold and 1 order." in page
    desk.save(f"event/{event_id}/cancel/", reason="The river flooded the stage")
    assert event_row(desk, event_id)[2] == "cancelled"
    assert desk.audited("event.changed")[-1][1:] == (desk.name, "The river flooded the stage")
    assert "cannot change to this status" in desk.refused(f"event/{event_id}/publish/")
    archive = f"event/{event_id}/archive/"
    assert archive not in desk.get(f"event/{event_id}/change/"), "its orders need to be cancelled"
    assert desk.save(archive, reason="Over") == f"event/{event_id}/change/"
    assert event_row(desk, event_id)[2] == "cancelled"
    for change in (
        "UPDATE purchase_order SET status = 'cancelled' WHERE organization_id = %s RETURNING 1",
        (
            "UPDATE hold SET status = 'cancelled' WHERE organization_id = %s AND status = 'active'"
            " RETURNING 1"
        ),
    ):
        assert archive not in desk.get(f"event/{event_id}/change/")
        desk.rows(change, sale.organization_id)
    assert archive in desk.get(f"event/{event_id}/change/")
    desk.save(archive, reason="Over")
    assert event_row(desk, event_id)[2] == "archived"


def test_the_page_says_what_is_missing(desk: Desk) -> None:
    event_id = desk.event()
    shown = desk.get(f"event/{event_id}/change/")
    assert "Draft: buyers cannot see it" in shown
    assert f"/admin/holdfast/event/{event_id}/session/" in shown
    session_id = desk.session(event_id)
    shown = desk.get(f"event/{event_id}/change/")
    assert "1 session without one" in shown
    assert f"session/{session_id}/tickettype/" in shown
    desk.ticket_type(session_id, is_seated="on")
    shown = desk.get(f"event/{event_id}/change/")
    assert "1 session with seated tickets, but no seats" in shown
    assert f"session/{session_id}/design/" in shown
    desk.ticket_type(session_id, name="Standing", capacity="10")
    assert "<strong>missing</strong>" in desk.get(f"event/{event_id}/change/")
    desk.save(f"event/{event_id}/publish/")
    shown = desk.get(f"event/{event_id}/change/")
    assert "On sale." in shown
    assert "<strong>missing</strong>" not in shown


def test_a_new_item_leads_to_a_form(desk: Desk) -> None:
    own = desk.sale.organization_id
    answer = desk.client.get("/admin/holdfast/event/add/")
    assert answer.headers["Location"] == f"/admin/holdfast/event/new/{own}/"
    assert "event/add/" in desk.get("event/")
    nothing = desk.get("event/", q="no such event")
    assert "Nothing found" in nothing
    assert "Create a new item" not in nothing
    session_id = desk.sale.session_id
    for model in ("tickettype", "pool", "block"):
        assert "Choose the session" in desk.get(f"{model}/add/")
        answer = desk.client.get(f"/admin/holdfast/{model}/add/", {"session_id": str(session_id)})
        assert answer.headers["Location"] == f"/admin/holdfast/session/{session_id}/{model}/"
        assert f"session/{session_id}/{model}/" in desk.get(f"session/{session_id}/change/")
    assert "Choose the event" in desk.get("session/add/")


def sold_from_and_until(desk: Desk, event_id: object) -> tuple[Any, Any]:
    row = event_row(desk, event_id)
    return row[3], row[4]


def test_a_sale_is_on_the_clocks_of_the_event(desk: Desk) -> None:
    """The organization is in UTC."""
    window = {"sale_starts_at": "2030-07-01T10:00", "sale_ends_at": "2030-12-01T10:00"}
    event_id = desk.event(time_zone="Europe/Berlin", **window)
    berlin = (datetime(2030, 7, 1, 8, tzinfo=UTC), datetime(2030, 12, 1, 9, tzinfo=UTC))
    assert sold_from_and_until(desk, event_id) == berlin
    form = desk.get(f"event/{event_id}/edit/")
    assert 'value="2030-07-01T10:00"' in form
    assert "Time zone: Europe/Berlin" in form
    for path in ("change", "publish"):
        assert "Mon 2030-07-01 10:00 (Europe/Berlin)" in desk.get(f"event/{event_id}/{path}/"), path
    desk.save(f"event/{event_id}/publish/")
    for path in ("change", "resume"):
        assert "Mon 2030-07-01 10:00 (Europe/Berlin)" in desk.get(f"event/{event_id}/{path}/"), path
    assert "Time zone: Europe/Berlin" in desk.get(f"event/{event_id}/pause/")
    given = {"until": "2030-08-01T10:00", "reason": "Fire drill"}
    desk.save(f"event/{event_id}/pause/", **given)
    assert sold_from_and_until(desk, event_id)[0] == datetime(2030, 8, 1, 8, tzinfo=UTC)


def test_times_that_are_entered_with_a_new_zone_are_in_that_zone(desk: Desk) -> None:
    event_id = desk.event(time_zone="Europe/Berlin", sale_starts_at="2030-07-01T10:00")
    edit = f"event/{event_id}/edit/"
    entered = {"name": "Summer nights", "sale_starts_at": "2030-07-01T10:00"}
    assert "must be the name of a time zone" in desk.refused(
        edit, **entered, time_zone="Mars/Olympus"
    )
    desk.save(edit, **entered, time_zone="America/New_York")
    assert sold_from_and_until(desk, event_id)[0] == datetime(2030, 7, 1, 14, tzinfo=UTC)
    desk.save(edit, **entered, time_zone="")
    assert sold_from_and_until(desk, event_id)[0] == datetime(2030, 7, 1, 10, tzinfo=UTC)


def test_the_pages_of_an_event_and_a_session_name_the_zone(desk: Desk) -> None:
    window = {"sale_ends_at": "2030-12-01T10:00", "time_zone": "Europe/Berlin"}
    session_id = desk.session(event_id := desk.event(**window), starts_at="2030-12-02T20:00")
    own = {"organization__id__exact": str(desk.sale.organization_id)}
    for page in (desk.get(f"event/{event_id}/change/"), desk.get("event/", **own)):
        assert "Sun 2030-12-01 10:00 (Europe/Berlin)" in page
    for page in (desk.get(f"session/{session_id}/change/"), desk.get("session/", **own)):
        assert "Mon 2030-12-02 20:00 (Europe/Berlin)" in page
