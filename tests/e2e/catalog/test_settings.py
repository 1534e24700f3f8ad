"""Settings of an organization over the API."""

from typing import Any

import pytest

from tests.e2e.answers import problem_of
from tests.e2e.owner import Owner
from tests.support.platform import Json, Platform

PATH = "/api/organization"


def change(platform: Platform, **body: Any) -> Json:
    answer = platform.client.patch(PATH, json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_new_organization_has_the_defaults(platform: Platform) -> None:
    found = platform.client.get(PATH).json()
    assert found.pop("created_at")
    assert found == {
        "organization_id": platform.organization_id,
        "mode": "test",
        "hold_policy": {},
        "name": "Test organization",
        "time_zone": "UTC",
    }


def test_settings_are_changed_and_cleared(platform: Platform) -> None:
    changed = change(platform, time_zone="Europe/Berlin", mail_name="Box office")
    assert (changed["time_zone"], changed["mail_name"]) == ("Europe/Berlin", "Box office")
    assert changed["name"] == "Test organization"
    assert platform.client.get(PATH).json() == changed
    assert "mail_name" not in change(platform, mail_name=None)


def test_the_policy_applies_to_the_next_hold(platform: Platform) -> None:
    """Also to sessions that every process has cached."""
    sale = platform.on_sale(5)
    assert platform.place(sale).json()["expires_in_seconds"] > 590
    assert change(platform, hold_policy={"ttl_seconds": 60})["hold_policy"] == {"ttl_seconds": 60}
    assert platform.place(sale).json()["expires_in_seconds"] <= 60
    assert change(platform, hold_policy={"ttl_seconds": None})["hold_policy"] == {}
    assert platform.place(sale).json()["expires_in_seconds"] > 590


def test_an_event_keeps_its_own_policy(platform: Platform) -> None:
    sale = platform.on_sale(5)
    own = {"hold_policy": {"ttl_seconds": 300}}
    assert platform.client.patch(f"/api/events/{sale.event_id}", json=own).status_code == 200
    change(platform, hold_policy={"ttl_seconds": 60})
    assert 290 < platform.place(sale).json()["expires_in_seconds"] <= 300


@pytest.mark.parametrize(
    ("body", "error", "field"),
    [
        ({}, "validation_error", "body"),
        ({"hold_policy": {}}, "validation_error", "hold_policy"),
        ({"hold_policy": {"ttl_seconds": 0}}, "invalid_policy", "hold_policy.ttl_seconds"),
        ({"time_zone": "Mars/Olympus"}, "validation_error", "time_zone"),
        ({"time_zone": None}, "validation_error", "time_zone"),
        ({"name": " "}, "validation_error", "name"),
        ({"mail_name": " "}, "validation_error", "mail_name"),
        ({"mail_reply_to": "nobody"}, "validation_error", "mail_reply_to"),
        ({"pay_url": "javascript:alert(1)"}, "validation_error", "pay_url"),
        ({"cart_url": "https://u:p@a.example/"}, "validation_error", "cart_url"),
        ({"pay_url": "https://a.example/{hold_id.x}"}, "validation_error", "pay_url"),
        ({"mode": "live"}, "validation_error", "body"),
        ({"organization_id": "x"}, "validation_error", "body"),
    ],
)
def test_an_invalid_change_changes_nothing(
    platform: Platform, body: Json, error: str, field: str
) -> None:
    before = platform.client.get(PATH).json()
    answer = platform.client.patch(PATH, json=body | ({"mail_footer": "x"} if body else {}))
    assert problem_of(answer, 400, error)["errors"][0]["field"] == field
    assert platform.client.get(PATH).json() == before


def test_a_lifetime_below_the_hold_time_is_refused(platform: Platform) -> None:
    body = {"hold_policy": {"ttl_seconds": 600, "lifetime_max_seconds": 60}}
    problem_of(platform.client.patch(PATH, json=body), 400, "invalid_policy")


def test_a_change_is_audited_and_repeatable(platform: Platform) -> None:
    headers = {"Idempotency-Key": "settings-1"}
    body = {"time_zone": "Europe/Berlin", "hold_policy": {"quantity_max": 4}}
    first = platform.client.patch(PATH, json=body, headers=headers)
    again = platform.client.patch(PATH, json=body, headers=headers)
    assert first.json() == again.json()
    assert again.headers["idempotent-replayed"] == "true"
    (entry,) = platform.client.get("/api/audit?action=organization.changed").json()["data"]
    assert entry["catalog_id"] == platform.organization_id
    assert entry["old"] == {"time_zone": "UTC"}
    assert entry["new"] == {"time_zone": "Europe/Berlin", "quantity_max": 4}


def test_settings_belong_to_one_organization(
    platform: Platform, neighbour: Platform, owner: Owner
) -> None:
    before = neighbour.client.get(PATH).json()
    change(platform, name="Mine", hold_policy={"ttl_seconds": 60})
    assert neighbour.client.get(PATH).json() == before
