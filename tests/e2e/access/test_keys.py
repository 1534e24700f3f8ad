"""API keys: wrong input, limits and retries."""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from holdfast.domain.access.keys import KEYS_MAX
from tests.e2e.answers import problem_of
from tests.e2e.owner import Owner
from tests.support.patience import wait_until
from tests.support.platform import Json, Platform


def key_body(**changes: Any) -> Json:
    return {"name": "scanner", "scopes": ["holds:read"], **changes}


def in_hours(hours: int) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat()


@pytest.mark.parametrize(
    ("change", "error", "field"),
    [
        ({"scopes": []}, "validation_error", "scopes"),
        ({"scopes": ["holds:reed"]}, "validation_error", "scopes[0]"),
        ({"scopes": ["facts", "everything"]}, "validation_error", "scopes[1]"),
        ({"scopes": "holds"}, "validation_error", "scopes"),
        ({"name": " "}, "validation_error", "name"),
        ({"name": None}, "validation_error", "name"),
        ({"expires_at": "tomorrow"}, "validation_error", "expires_at"),
        ({"expires_at": "2026-01-15T10:20:00"}, "validation_error", "expires_at"),
        ({"expires_at": "0001-01-01T00:00:00+14:00"}, "validation_error", "expires_at"),
        ({"mode": "live"}, "validation_error", "body"),
        ({"organization_id": str(uuid4())}, "validation_error", "body"),
    ],
)
def test_wrong_input_creates_no_key(
    platform: Platform, change: Json, error: str, field: str
) -> None:
    answer = platform.client.post("/api/keys", json=key_body(**change))
    problem = problem_of(answer, 400, error)
    assert problem["errors"][0]["field"] == field
    assert len(platform.client.get("/api/keys").json()["data"]) == 1


def test_a_key_cannot_expire_in_the_past(platform: Platform) -> None:
    answer = platform.client.post("/api/keys", json=key_body(expires_at=in_hours(-1)))
    problem_of(answer, 400, "invalid_expiry")
    (own,) = platform.client.get("/api/keys").json()["data"]
    path = f"/api/keys/{own['key_id']}/rotate"
    problem_of(platform.client.post(path, json={"expires_at": in_hours(-1)}), 400, "invalid_expiry")
    assert platform.client.get(f"/api/keys/{own['key_id']}").json()["status"] == "valid"


def test_a_repeated_creation_issues_one_key(platform: Platform) -> None:
    headers = {"Idempotency-Key": "new-scanner"}
    first = platform.client.post("/api/keys", json=key_body(), headers=headers)
    again = platform.client.post("/api/keys", json=key_body(), headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["idempotent-replayed"] == "true"
    assert first.json() == again.json()
    assert len(platform.client.get("/api/keys").json()["data"]) == 2


def test_the_stored_answer_does_not_contain_the_secret(platform: Platform, owner: Owner) -> None:
    headers = {"Idempotency-Key": "new-scanner"}
    issued = platform.client.post("/api/keys", json=key_body(), headers=headers).json()
    for table in ("idempotency", "audit", "api_key"):
        rows = owner.rows(
            f"SELECT x::text, convert_from(decode(x::text, 'escape'), 'LATIN1') FROM {table} x"
            " WHERE organization_id = %s",
            platform.organization_id,
        )
        assert rows
        assert issued["secret_key"] not in str(rows)


def test_keys_are_limited_and_room_is_made_by_revoking(platform: Platform, owner: Owner) -> None:
    owner.run(
        "INSERT INTO api_key (organization_id, id, name, prefix, secret_hash, scopes)"
        " SELECT %s, gen_random_uuid(), 'many', 'hk_test_many', sha256(n::text::bytea), '{}'"
        " FROM generate_series(2, %s::integer) AS n",
        platform.organization_id,
        KEYS_MAX,
    )
    problem = problem_of(platform.client.post("/api/keys", json=key_body()), 409, "too_many_keys")
    assert problem["maximum"] == KEYS_MAX
    many = platform.client.get("/api/keys").json()["data"][0]["key_id"]
    assert platform.client.post(f"/api/keys/{many}/revoke").json()["status"] == "revoked"
    assert platform.client.post("/api/keys", json=key_body()).status_code == 201


def test_only_a_valid_key_can_be_rotated(platform: Platform) -> None:
    key = platform.made("/api/keys", key_body())
    path = f"/api/keys/{key['key_id']}"
    first = platform.client.post(f"{path}/revoke").json()
    assert platform.client.post(f"{path}/revoke").json() == first
    problem = problem_of(platform.client.post(f"{path}/rotate"), 409, "key_not_valid")
    assert problem["current_status"] == "revoked"


def test_an_expiring_key_issues_none_that_lasts_longer(platform: Platform) -> None:
    own = platform.made("/api/keys", key_body(scopes=["all"], expires_at=in_hours(1)))
    headers = {"Authorization": f"Bearer {own['secret_key']}"}

    def post(path: str, body: Json) -> httpx.Response:
        return platform.client.post(path, json=body, headers=headers)

    without_end = post("/api/keys", key_body()).json()
    assert without_end["expires_at"] == own["expires_at"]
    later = post("/api/keys", key_body(expires_at=in_hours(2)))
    problem_of(later, 400, "invalid_expiry")
    rotated = post(f"/api/keys/{own['key_id']}/rotate", {}).json()
    assert rotated["expires_at"] == own["expires_at"]
    path = f"/api/keys/{without_end['key_id']}/rotate"
    problem_of(post(path, {"expires_at": in_hours(2)}), 400, "invalid_expiry")


def test_a_key_that_ends_with_the_calendar_can_be_rotated(platform: Platform) -> None:
    key = platform.made("/api/keys", key_body(expires_at="9999-12-31T23:59:59Z"))
    new = platform.made(f"/api/keys/{key['key_id']}/rotate", {})
    assert new["expires_at"].startswith("9999-12-31T23:59:59")


def test_a_key_revoked_while_its_body_arrives_issues_no_key(platform: Platform) -> None:
    """The headers were accepted, and the body comes after the revocation."""
    own = platform.made("/api/keys", key_body(scopes=["all"]))
    revoked = threading.Event()

    def body() -> Iterator[bytes]:
        yield b'{"name": "late", '
        time.sleep(0.2)  # the headers are on their way
        path = f"/api/keys/{own['key_id']}/revoke"
        assert platform.client.post(path).json()["status"] == "revoked"
        revoked.set()
        yield b'"scopes": ["all"]}'

    headers = {
        "Authorization": f"Bearer {own['secret_key']}",
        "Content-Type": "application/json",
    }
    with httpx.Client(base_url=platform.base_url, timeout=60) as client:
        answer = client.post("/api/keys", content=body(), headers=headers)
    assert revoked.is_set()
    problem_of(answer, 401, "unauthorized")
    names = [key["name"] for key in platform.client.get("/api/keys").json()["data"]]
    assert "late" not in names


def test_a_rotation_never_prolongs_the_old_key(platform: Platform) -> None:
    key = platform.made("/api/keys", key_body(expires_at=in_hours(1)))
    platform.made(f"/api/keys/{key['key_id']}/rotate", {"overlap_seconds": 86_400})
    old = platform.client.get(f"/api/keys/{key['key_id']}").json()
    assert old["expires_at"] == key["expires_at"]


def test_a_rotated_key_has_the_lifetime_of_the_old_one(platform: Platform) -> None:
    key = platform.made("/api/keys", key_body(expires_at=in_hours(48)))
    new = platform.made(f"/api/keys/{key['key_id']}/rotate", {})
    lifetimes = [
        datetime.fromisoformat(each["expires_at"]) - datetime.fromisoformat(each["created_at"])
        for each in (key, new)
    ]
    assert abs(lifetimes[0] - lifetimes[1]) < timedelta(seconds=1)
    sooner = platform.made(f"/api/keys/{new['key_id']}/rotate", {"expires_at": in_hours(1)})
    assert sooner["expires_at"] < new["expires_at"]


def test_a_rotation_without_overlap_ends_the_old_key(platform: Platform) -> None:
    key = platform.made("/api/keys", key_body())
    new = platform.made(f"/api/keys/{key['key_id']}/rotate", {"overlap_seconds": 0})
    assert "expires_at" not in new
    for secret, status in ((key["secret_key"], 401), (new["secret_key"], 200)):
        headers = {"Authorization": f"Bearer {secret}"}
        answer = httpx.get(f"{platform.base_url}/api/holds", headers=headers)
        assert answer.status_code == status


def test_the_last_use_is_noted(platform: Platform) -> None:
    key = platform.made("/api/keys", key_body())
    assert "last_used_at" not in key
    path = f"/api/keys/{key['key_id']}"
    headers = {"Authorization": f"Bearer {key['secret_key']}"}
    httpx.get(f"{platform.base_url}/api/holds", headers=headers)
    wait_until(lambda: "last_used_at" in platform.client.get(path).json(), "the use is noted")


def test_keys_are_listed_page_by_page(platform: Platform) -> None:
    made = [platform.made("/api/keys", key_body(name=f"key {number}")) for number in range(3)]
    first = platform.client.get("/api/keys?limit=2").json()
    rest = platform.client.get(f"/api/keys?limit=2&cursor={first['next_cursor']}").json()
    names = [key["name"] for key in (*first["data"], *rest["data"])]
    assert names == [*(key["name"] for key in reversed(made)), "first key"]
    assert not rest["has_more"]


def test_a_key_can_revoke_itself(platform: Platform) -> None:
    (own,) = platform.client.get("/api/keys").json()["data"]
    assert platform.client.post(f"/api/keys/{own['key_id']}/revoke").status_code == 200
    problem_of(platform.client.get("/api/keys"), 401, "unauthorized")


def test_the_audit_finds_changes_of_a_key(platform: Platform) -> None:
    keys = [platform.made("/api/keys", key_body()) for _ in range(2)]
    of_one = platform.client.get(f"/api/audit?key_id={keys[0]['key_id']}").json()["data"]
    assert [entry["key_id"] for entry in of_one] == [keys[0]["key_id"]]
    assert of_one[0]["new"]["scopes"] == ["holds:read"]
