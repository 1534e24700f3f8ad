"""Sessions are created one by one or by rule, and changed in the admin."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.pages.catalog.conftest import Desk

RULE = {
    "name": "Matinee",
    "weekdays": ["5", "6"],
    "first": "2030-10-26",
    "last": "2030-11-03",
    "times": "15:00, 20:00",
}


def starts(desk: Desk, event_id: object) -> list[Any]:
    return desk.rows(
        "SELECT name, starts_at FROM session WHERE event_id = %s ORDER BY starts_at", event_id
    )


def in_berlin(desk: Desk) -> None:
    own = desk.sale.organization_id
    desk.rows("UPDATE organization SET time_zone = 'Europe/Berlin' WHERE id = %s RETURNING 1", own)


def test_a_session_is_created_and_moved(desk: Desk) -> None:
    in_berlin(desk)
    event_id = desk.event()
    session_id = desk.session(event_id, name="Friday", starts_at="2030-08-02T20:00")
    assert starts(desk, event_id) == [("Friday", datetime(2030, 8, 2, 18, tzinfo=UTC))]
    edit = f"session/{session_id}/edit/"
    assert "This field is required" in desk.refused(edit, name="Friday", starts_at="")
    desk.save(edit, name="Friday", starts_at="2030-08-02T21:30", reason="The band is late")
    assert starts(desk, event_id) == [("Friday", datetime(2030, 8, 2, 19, 30, tzinfo=UTC))]
    assert desk.audited("session.changed")[-1][1:] == (desk.name, "The band is late")


def test_sessions_by_rule_are_listed_before_they_are_written(desk: Desk) -> None:
    in_berlin(desk)
    event_id = desk.event()
    path = f"event/{event_id}/sessions/"
    preview = desk.refused(path, **RULE)
    assert "Adds 8 sessions" in preview
    assert "Matinee, Sat 2030-10-26 15:00" in preview
    assert starts(desk, event_id) == []
    desk.save(path, **RULE, is_previewed="on", reason="Autumn")
    made = starts(desk, event_id)
    assert len(made) == 8
    # Clocks go back on 27 October: 20:00 in Berlin is 18:00, then 19:00 in UTC.
    assert made[1] == ("Matinee, Sat 2030-10-26 20:00", datetime(2030, 10, 26, 18, tzinfo=UTC))
    assert made[3] == ("Matinee, Sun 2030-10-27 20:00", datetime(2030, 10, 27, 19, tzinfo=UTC))
    assert [entry[2] for entry in desk.audited("session.created")] == ["Autumn"] * 8
    assert "already has all of these sessions" in desk.refused(path, **RULE)


def test_a_longer_rule_only_adds_what_is_missing(desk: Desk) -> None:
    event_id = desk.event()
    path = f"event/{event_id}/sessions/"
    desk.save(path, **RULE, is_previewed="on")
    longer = {**RULE, "last": "2030-11-10"}
    preview = desk.refused(path, **longer)
    assert "Adds 4 sessions" in preview
    assert "8 of them are there already" in preview
    desk.save(path, **longer, is_previewed="on")
    assert len(starts(desk, event_id)) == 12


def test_many_sessions_take_several_requests(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.entrypoints.admin.catalog.sessions.PER_REQUEST_MAX", 3)
    event_id = desk.event()
    path = f"event/{event_id}/sessions/"
    for done in (3, 6):
        page = desk.refused(path, **RULE, is_previewed="on")
        assert f"{done} of 8 done" in page
        assert "continue.js" in page
        assert len(starts(desk, event_id)) == done
    desk.save(path, **RULE, is_previewed="on")
    assert len(starts(desk, event_id)) == 8


@pytest.mark.parametrize(
    ("entered", "problem"),
    [
        ({"weekdays": []}, "This field is required"),
        ({"times": "evening"}, "times such as 20:00"),
        ({"last": "2030-10-01"}, "must not be before the first"),
        ({"last": "2039-10-01"}, "At most 1096 days"),
        ({"first": "tomorrow"}, "Enter a valid date"),
        ({"last": "2031-12-31"}, "at most 200 at once"),
        ({"last": "2030-10-26", "weekdays": ["0"]}, "No day"),
    ],
)
def test_a_wrong_rule_is_explained(desk: Desk, entered: dict[str, Any], problem: str) -> None:
    event_id = desk.event()
    page = desk.refused(f"event/{event_id}/sessions/", **{**RULE, **entered}, is_previewed="on")
    assert problem in page
    assert starts(desk, event_id) == []


def test_a_time_that_clocks_skip_is_refused(desk: Desk) -> None:
    in_berlin(desk)
    event_id = desk.event()
    rule = {"weekdays": ["6"], "first": "2030-03-31", "last": "2030-03-31", "times": "02:30"}
    page = desk.refused(f"event/{event_id}/sessions/", **rule)
    assert "There is no 02:30 on 2030-03-31 in Europe/Berlin" in page


def test_a_time_that_clocks_show_twice_is_the_first_one(desk: Desk) -> None:
    in_berlin(desk)
    event_id = desk.event()
    rule = {"weekdays": ["6"], "first": "2030-10-27", "last": "2030-10-27", "times": "02:30"}
    assert "the first of the two" in desk.refused(f"event/{event_id}/sessions/", **rule)
    desk.save(f"event/{event_id}/sessions/", **rule, is_previewed="on")
    assert starts(desk, event_id)[0][1] == datetime(2030, 10, 27, 0, 30, tzinfo=UTC)
