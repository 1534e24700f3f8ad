"""The venue and time zone of an event over the API."""

import pytest

from tests.e2e.answers import problem_of
from tests.e2e.owner import Owner
from tests.support.platform import Json, Platform

EVENT = {"name": "Gala", "currency": "EUR"}
PLACE = {"venue": "Opera House", "time_zone": "Australia/Sydney"}


def test_an_event_has_a_venue_and_a_time_zone(platform: Platform) -> None:
    event = platform.made("/api/events", EVENT | PLACE)
    assert event | PLACE == event
    path = f"/api/events/{event['event_id']}"
    assert platform.client.get(path).json() == event
    moved = platform.client.patch(path, json={"venue": "Old Mill"}).json()
    assert (moved["venue"], moved["time_zone"]) == ("Old Mill", "Australia/Sydney")
    named = platform.client.patch(path, json={"name": "Great Gala"}).json()
    assert (named["venue"], named["time_zone"]) == ("Old Mill", "Australia/Sydney")
    cleared = platform.client.patch(path, json={"venue": None, "time_zone": None}).json()
    assert not {"venue", "time_zone"} & set(cleared)


def test_without_them_it_has_neither(platform: Platform) -> None:
    assert not {"venue", "time_zone"} & set(platform.made("/api/events", EVENT))


def test_a_change_is_published(platform: Platform, owner: Owner) -> None:
    event = platform.made("/api/events", EVENT | PLACE)
    platform.client.patch(f"/api/events/{event['event_id']}", json={"venue": None})
    query = "SELECT payload FROM outbox WHERE catalog_id = %s ORDER BY version"
    created, changed = (payload for (payload,) in owner.rows(query, event["event_id"]))
    assert created["new"] | PLACE == created["new"]
    assert (changed["old"], changed["new"]) == ({"venue": "Opera House"}, {})


@pytest.mark.parametrize(
    ("place", "field"),
    [
        ({"venue": ""}, "venue"),
        ({"venue": " "}, "venue"),
        ({"venue": "x" * 201}, "venue"),
        ({"venue": "a\u2028b"}, "venue"),
        ({"time_zone": ""}, "time_zone"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"time_zone": "../../etc/passwd"}, "time_zone"),
        ({"time_zone": "x" * 51}, "time_zone"),
    ],
)
def test_a_wrong_place_is_refused_by_field(platform: Platform, place: Json, field: str) -> None:
    for answer in (
        platform.client.post("/api/events", json=EVENT | place),
        platform.client.patch(
            f"/api/events/{platform.made('/api/events', EVENT)['event_id']}", json=place
        ),
    ):
        problem = problem_of(answer, 400, "validation_error")
        assert [error["field"] for error in problem["errors"]] == [field]
