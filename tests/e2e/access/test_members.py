"""Members over the API: who may change whom, and what a session may do."""

from contextlib import nullcontext
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from django_otp.oath import TOTP
from psycopg.errors import InsufficientPrivilege

from holdfast.domain.access.roles import SCOPES_OF_ROLE, Role
from holdfast.domain.access.scopes import Scope
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.routes import ROUTES
from tests.e2e.answers import problem_of
from tests.e2e.halls import build_hall
from tests.e2e.owner import Owner
from tests.e2e.paying import read
from tests.support.patience import wait_until
from tests.support.people import PASSWORD, Staff, add_staff
from tests.support.platform import Json, Platform, new_platform
from tests.support.servers import RunningServer


def sign_in(platform: Platform, staff: Staff, **other: str) -> httpx.Response:
    body = {
        "organization_id": platform.organization_id,
        "username": staff.username,
        "password": PASSWORD,
        **other,
    }
    return httpx.post(f"{platform.base_url}/api/member-sessions", json=body, timeout=60)


def session_of(platform: Platform, owner: Owner, role: str) -> Platform:
    """The API for a member who is signed in."""
    staff = add_staff(owner.database_url, platform.organization_id, role)
    answer = sign_in(platform, staff)
    assert answer.status_code == 201, answer.text
    token = answer.json()["session_token"]
    return Platform(platform.base_url, token, platform.organization_id)


def new_member(role: str = "viewer") -> Json:
    return {"username": f"ann-{uuid4().hex}@example.com", "role": role}


@pytest.mark.parametrize("role", list(Role))
def test_a_session_may_do_what_its_role_allows(
    platform: Platform, owner: Owner, role: Role
) -> None:
    """Every route: 403 without the scope, and something else with it."""
    session = session_of(platform, owner, role.value)
    for route in ROUTES:
        if route.scope is None:
            continue
        answer = session.client.request(route.method, address(route), **body_of(route))
        # A holder token ends with the key that issued it, so it takes a key.
        allowed = route.scope in SCOPES_OF_ROLE[role] and route.scope is not Scope.TOKENS_WRITE
        assert (answer.status_code == 403) == (not allowed), (route.method, route.path, answer.text)


def address(route: Route[Any]) -> str:
    return "/".join(str(uuid4()) if "{" in part else part for part in route.path.split("/"))


def body_of(route: Route[Any]) -> Json:
    return {"json": {}} if route.is_unsafe else {}


def test_a_member_is_added_changed_and_removed(platform: Platform) -> None:
    added = platform.made("/api/members", new_member())
    assert (added["role"], added["status"]) == ("viewer", "invited")
    path = f"/api/members/{added['member_id']}"
    assert platform.client.patch(path, json={"role": "support"}).json()["role"] == "support"
    assert platform.client.get(path).json()["role"] == "support"
    assert platform.client.delete(path).status_code == 200
    problem_of(platform.client.get(path), 404, "member_not_found")
    actions = [each["action"] for each in platform.client.get("/api/audit").json()["data"]]
    assert actions[:3] == ["member.removed", "member.changed", "member.added"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"username": ""}, "validation_error"),
        ({"username": "two words"}, "validation_error"),
        ({"username": "x" * 151}, "validation_error"),
        ({"username": "ann\n"}, "invalid_characters"),
        ({"username": "\u00bd"}, "validation_error"),  # three characters, one of them a slash
        ({"username": "\ufdfa" * 9}, "validation_error"),  # 162 characters
        ({"role": "boss"}, "validation_error"),
        ({"role": None}, "validation_error"),
        ({"email": "nobody"}, "invalid_email"),
        ({"is_superuser": True}, "validation_error"),
    ],
)
def test_wrong_input_adds_nobody(platform: Platform, change: Json, code: str) -> None:
    answer = platform.client.post("/api/members", json=new_member() | change)
    problem_of(answer, 400, code)
    assert platform.client.get("/api/members").json()["data"] == []


def test_the_account_of_another_organization_is_not_taken(
    platform: Platform, neighbour: Platform, owner: Owner
) -> None:
    """Otherwise its password could be chosen by whoever invites it first."""
    member = neighbour.made("/api/members", new_member())
    body = {"username": member["username"], "role": "viewer"}
    refused = platform.client.post("/api/members", json=body)
    problem_of(refused, 409, "username_taken")
    assert "hi_" not in refused.text
    assert platform.client.get("/api/members").json()["data"] == []


def test_a_member_needs_two_factor_authentication_if_it_is_required(
    platform: Platform, owner: Owner
) -> None:
    """At once, also in sessions that are open."""
    staff = add_staff(owner.database_url, platform.organization_id, "viewer")
    session = Platform(
        platform.base_url,
        sign_in(platform, staff).json()["session_token"],
        platform.organization_id,
    )
    assert session.client.get("/api/events").status_code == 200
    required = {"two_factor_required": True}
    assert (
        platform.client.patch("/api/organization", json=required).json().items() >= required.items()
    )
    wait_until(lambda: session.client.get("/api/events").status_code == 401, "no access")
    problem_of(sign_in(platform, staff), 403, "two_factor_required")
    problem_of(sign_in(platform, staff, password="wrong"), 401, "unauthorized")
    code = code_of_app(owner, staff)
    assert sign_in(platform, staff, code=code).status_code == 201


def test_servers_hear_at_once_that_a_session_lacks_two_factor_authentication(
    platform: Platform, neighbour: Platform, owner: Owner
) -> None:
    """They remember a session for seconds."""
    staff = add_staff(owner.database_url, platform.organization_id, "viewer")
    assert sign_in(platform, staff).status_code == 201
    other = add_staff(owner.database_url, neighbour.organization_id, "viewer")
    assert sign_in(neighbour, other).status_code == 201
    ((session_id,),) = owner.rows(
        "SELECT id FROM member_session WHERE member_id = %s", staff.member_id
    )
    code_of_app(owner, staff)
    with psycopg.connect(owner.database_url, autocommit=True) as listening:
        listening.execute("LISTEN holdfast_keys")
        platform.client.patch("/api/organization", json={"two_factor_required": True})
        assert heard(listening) == [str(session_id)]
        owner.run("DELETE FROM otp_totp_totpdevice WHERE user_id = %s", staff.user_id)
        assert heard(listening) == [str(session_id)]


def heard(listening: psycopg.Connection) -> list[str]:
    return [each.payload for each in listening.notifies(timeout=10, stop_after=1)]


def test_a_name_in_other_case_is_the_same_account(platform: Platform, neighbour: Platform) -> None:
    added = platform.made("/api/members", new_member())
    body = {"username": added["username"].upper(), "role": "viewer"}
    problem_of(platform.client.post("/api/members", json=body), 409, "already_member")
    problem_of(neighbour.client.post("/api/members", json=body), 409, "username_taken")


def test_a_name_in_full_width_letters_is_the_same_account(
    platform: Platform, neighbour: Platform
) -> None:
    name = f"ann-{uuid4().hex}"
    wide = "\uff41" + name[1:]
    assert platform.made("/api/members", {"username": wide, "role": "viewer"})["username"] == name
    for spelling in (wide, name):
        body = {"username": spelling, "role": "viewer"}
        problem_of(platform.client.post("/api/members", json=body), 409, "already_member")
        problem_of(neighbour.client.post("/api/members", json=body), 409, "username_taken")


def test_a_person_logs_in_with_any_spelling_of_the_name(platform: Platform, owner: Owner) -> None:
    staff = add_staff(owner.database_url, platform.organization_id, "viewer")
    wide = "\uff33" + staff.username[1:]
    assert sign_in(platform, staff, username=wide).status_code == 201


def test_the_application_cannot_claim_to_be_an_operator(owner: Owner) -> None:
    wanted = ("somebody", "", b"x", 60)
    with psycopg.connect(owner.database_url) as connection:
        for role, is_allowed in (("holdfast_operator", True), ("holdfast_app", False)):
            connection.execute(f"SET ROLE {role}".encode())
            statement = "SELECT holdfast_enlist(%s, %s, %s, %s, true)"
            with nullcontext() if is_allowed else pytest.raises(InsufficientPrivilege):
                connection.execute(statement, wanted)
            connection.rollback()


def test_an_idempotent_retry_adds_once_and_repeats_the_invitation(platform: Platform) -> None:
    headers, body = {"Idempotency-Key": str(uuid4())}, new_member()
    first = platform.client.post("/api/members", json=body, headers=headers)
    again = platform.client.post("/api/members", json=body, headers=headers)
    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert len(platform.client.get("/api/members").json()["data"]) == 1


def test_a_limited_key_cannot_touch_a_member_above_it(
    platform: Platform, server: RunningServer, owner: Owner
) -> None:
    add_staff(owner.database_url, platform.organization_id, "owner")
    boss = add_staff(owner.database_url, platform.organization_id, "owner")
    scopes = ["members:read", "members:write", "settings:read", "catalog", "holds", "facts"]
    limited = platform.made("/api/keys", {"name": "hr", "scopes": scopes})["secret_key"]
    hr = Platform(server.base_url, limited, platform.organization_id)
    path = f"/api/members/{boss.member_id}"
    problem_of(hr.client.delete(path), 403, "scope_not_held")
    problem_of(hr.client.patch(path, json={"role": "viewer"}), 403, "scope_not_held")
    problem_of(hr.client.post("/api/members", json=new_member("owner")), 403, "scope_not_held")
    assert hr.client.post("/api/members", json=new_member("viewer")).status_code == 201


def test_nobody_signs_in_to_another_organization(
    platform: Platform, neighbour: Platform, owner: Owner
) -> None:
    staff = add_staff(owner.database_url, platform.organization_id, "owner")
    foreign = sign_in(platform, staff, organization_id=neighbour.organization_id)
    problem = problem_of(foreign, 401, "unauthorized")
    unknown = sign_in(platform, staff, username=f"nobody-{uuid4()}")
    assert problem_of(unknown, 401, "unauthorized")["message"] == problem["message"]


def test_a_member_reserves_a_seat_for_themselves_or_for_a_buyer(
    platform: Platform, owner: Owner
) -> None:
    hall = build_hall(platform)
    session = session_of(platform, owner, "support")
    for name, body in (("Stalls A 1", {}), ("Stalls A 2", {"user_id": "ada"})):
        answer = session.client.post(f"{hall.seat_path(name)}/reserve", json=body)
        assert answer.status_code == 201, answer.text
        (entry, *_) = entries(platform, action="hold.created")
        assert entry["actor"].startswith("member:")
        whose = body.get("user_id", entry["actor"])
        (hold,) = read(platform, "/api/holds", user_id=whose)["data"]
        assert hold["hold_id"] == entry["hold_id"]
    nobody = platform.client.post(f"{hall.seat_path('Stalls A 3')}/reserve", json={})
    problem_of(nobody, 400, "holder_required")


def entries(platform: Platform, **only: str) -> list[Json]:
    found: list[Json] = read(platform, "/api/audit", **only)["data"]
    return found


def test_a_refused_role_and_an_ended_session_say_who_and_what(
    platform: Platform, owner: Owner
) -> None:
    session = session_of(platform, owner, "viewer")
    problem_of(session.client.post("/api/events", json={}), 403, "insufficient_scope")
    wait_until(lambda: bool(entries(platform, error="insufficient_scope")), "the refusal")
    (entry,) = entries(platform, error="insufficient_scope")
    assert (
        entry["acting_user"] == entries(platform, action="member.logged_in")[0]["new"]["username"]
    )
    assert session.client.delete("/api/member-sessions/current").status_code == 200
    ended = problem_of(session.client.get("/api/events"), 401, "unauthorized")
    assert "session has ended" in ended["message"]


def test_a_session_belongs_to_one_side(server: RunningServer, owner: Owner) -> None:
    """Test and live have separate members."""
    platform = new_platform(server.base_url, server.database_url)
    ((live,),) = owner.rows(
        "SELECT o.id FROM organization o JOIN organization t USING (account_id)"
        " WHERE t.id = %s AND o.mode = 'live'",
        platform.organization_id,
    )
    staff = add_staff(owner.database_url, platform.organization_id, "owner")
    problem_of(sign_in(platform, staff, organization_id=str(live)), 401, "unauthorized")
    assert sign_in(platform, staff).status_code == 201


def test_a_member_with_two_factor_needs_a_code(platform: Platform, owner: Owner) -> None:
    staff = add_staff(owner.database_url, platform.organization_id, "viewer")
    code = code_of_app(owner, staff)
    problem_of(sign_in(platform, staff), 401, "unauthorized")
    owner.run("UPDATE otp_totp_totpdevice SET throttling_failure_count = 0")
    assert sign_in(platform, staff, code=code).status_code == 201
    problem_of(sign_in(platform, staff, code=code), 401, "unauthorized")


def code_of_app(owner: Owner, staff: Staff) -> str:
    """Set up an authenticator app; what it shows now."""
    key = uuid4().hex
    owner.run(
        "INSERT INTO otp_totp_totpdevice (user_id, name, confirmed, key, step, t0, digits,"
        " tolerance, drift, last_t, throttling_failure_count)"
        " VALUES (%s, 'app', true, %s, 30, 0, 6, 1, 0, -1, 0)",
        staff.user_id,
        key,
    )
    return f"{TOTP(bytes.fromhex(key)).token():06}"


def test_a_key_cannot_sign_out(platform: Platform) -> None:
    problem_of(platform.client.delete("/api/member-sessions/current"), 404, "not_found")
    assert platform.client.get("/api/holds").status_code == 200


def test_a_member_cannot_act_as_somebody_else(platform: Platform, owner: Owner) -> None:
    session = session_of(platform, owner, "support")
    headers = {"X-Acting-User": "ann"}
    answer = session.client.post(f"/api/holds/{uuid4()}/release", json={}, headers=headers)
    problem_of(answer, 400, "invalid_acting_user")


@pytest.mark.parametrize("name", [b"", b"\xff", b"x" * 201, "Ann\u200b\u2028".encode()])
def test_a_name_that_cannot_be_recorded_is_refused(platform: Platform, name: bytes) -> None:
    headers = {b"x-acting-user": name}
    answer = platform.client.post(f"/api/holds/{uuid4()}/release", json={}, headers=headers)
    problem_of(answer, 400, "invalid_acting_user")


def test_passwords_and_tokens_are_not_logged(
    platform: Platform, owner: Owner, server: RunningServer
) -> None:
    staff = add_staff(owner.database_url, platform.organization_id, "viewer")
    token = sign_in(platform, staff).json()["session_token"]
    sign_in(platform, staff, password="a wrong secret")
    log = server.log.read_text()
    assert PASSWORD not in log
    assert "a wrong secret" not in log
    assert token not in log
    ((stored,),) = owner.rows("SELECT count(*) FROM axes_accessattempt WHERE post_data ~ 'wrong'")
    assert stored == 0
