"""People, on two servers that share a database."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from tests.features.scene import Scene, new_key
from tests.support.patience import wait_until
from tests.support.people import PASSWORD, Staff, add_staff
from tests.support.platform import Json
from tests.support.servers import RunningServer

scenarios("people.feature")


@pytest.fixture(scope="module")
def second_server(
    database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    log = tmp_path_factory.mktemp("second") / "server.log"
    with RunningServer(database_url, Path(log)) as running:
        yield running


@dataclass
class Desk:
    servers: tuple[str, ...]
    owner_url: str
    organization_id: str
    staff: Staff | None = None
    token: str = ""
    key: str = ""
    answers: list[httpx.Response] = field(default_factory=list)

    @property
    def member(self) -> Staff:
        assert self.staff is not None
        return self.staff

    def get(self, path: str = "/api/holds") -> set[int]:
        """What every server answers to the session."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return {
            httpx.get(url + path, headers=headers, timeout=60).status_code for url in self.servers
        }

    def sign_in(self, password: str = PASSWORD) -> httpx.Response:
        body = {
            "organization_id": self.organization_id,
            "username": self.member.username,
            "password": password,
        }
        answer = httpx.post(f"{self.servers[0]}/api/member-sessions", json=body, timeout=60)
        if answer.status_code == 201:
            self.token = answer.json()["session_token"]
        return answer

    def run(self, query: str, *values: object) -> None:
        with psycopg.connect(self.owner_url) as connection:
            connection.execute("SET holdfast.owner = 'on'")
            connection.execute(query.encode(), values)


@pytest.fixture
def desk(scene: Scene, server: RunningServer, second_server: RunningServer) -> Desk:
    servers = (server.base_url, second_server.base_url)
    return Desk(servers, server.database_url, scene.platform.organization_id)


@given(parsers.parse('a member with the role "{role}"'))
def a_member(desk: Desk, role: str) -> None:
    desk.staff = add_staff(desk.owner_url, desk.organization_id, role)


@given("the member has signed in")
@when("the member signs in")
def signs_in(desk: Desk) -> None:
    answer = desk.sign_in()
    assert answer.status_code == 201, answer.text
    assert answer.json()["member"]["role"] == desk.member.role


@given("the member has signed in and used the session on every server")
def used_everywhere(desk: Desk) -> None:
    signs_in(desk)
    assert desk.get() == {200}


@when("the member signs in with a wrong password")
def wrong_password(desk: Desk, scene: Scene) -> None:
    scene.answers.append(desk.sign_in("guess"))


@when(parsers.parse("the member signs in with a wrong password {times:d} times"))
def wrong_passwords(desk: Desk, scene: Scene, times: int) -> None:
    for _ in range(times):
        scene.answers.append(desk.sign_in("guess"))


@then("the admin pages refuse the right password, too")
def admin_refuses(desk: Desk) -> None:
    with httpx.Client(base_url=desk.servers[0], timeout=60) as browser:
        browser.get("/admin/login/")
        entered = {
            "username": desk.member.username,
            "password": PASSWORD,
            "csrfmiddlewaretoken": browser.cookies["holdfast_csrf"],
        }
        assert browser.post("/admin/login/", data=entered).status_code == 429
    assert desk.sign_in().headers["retry-after"].startswith("600")


@then("the session can read holds")
def reads_holds(desk: Desk) -> None:
    assert desk.get() == {200}


def create_event(desk: Desk, url: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {desk.token}"}
    body = {"name": "Gala", "currency": "EUR"}
    return httpx.post(f"{url}/api/events", json=body, headers=headers, timeout=60)


@then("the session cannot create an event")
def no_event(desk: Desk) -> None:
    answer = create_event(desk, desk.servers[0])
    assert (answer.status_code, answer.json()["error"]) == (403, "insufficient_scope")


@then("no server lets the session create an event")
def no_event_anywhere(desk: Desk) -> None:
    def statuses() -> set[int]:
        return {create_event(desk, url).status_code for url in desk.servers}

    wait_until(lambda: statuses() == {403}, "it may not")
    assert desk.get() == {200}


@when("the session has not been used for 31 minutes")
def unused(desk: Desk) -> None:
    _age(desk, "last_used_at = last_used_at - interval '31 minutes'")


@when("the session is 8 hours old")
def old(desk: Desk) -> None:
    _age(desk, "ends_at = ends_at - interval '8 hours'")


def _age(desk: Desk, change: str) -> None:
    query = f"UPDATE member_session SET {change} WHERE organization_id = %s AND member_id = %s"
    desk.run(query, desk.organization_id, desk.member.member_id)


@then("no server accepts the session")
def nobody_accepts(desk: Desk) -> None:
    wait_until(lambda: desk.get() == {401}, "the session is refused")


@when("the member is removed")
def removed(desk: Desk, scene: Scene) -> None:
    add_staff(desk.owner_url, desk.organization_id, "owner")
    answer = scene.platform.client.delete(f"/api/members/{desk.member.member_id}")
    assert answer.status_code == 200, answer.text


@when("the member is removed over the API")
def remove(desk: Desk, scene: Scene) -> None:
    scene.answers.append(scene.platform.client.delete(f"/api/members/{desk.member.member_id}"))


@when(parsers.parse('the member becomes a "{role}"'))
@when(parsers.parse('the member becomes a "{role}" over the API'))
def becomes(desk: Desk, scene: Scene, role: str) -> None:
    path = f"/api/members/{desk.member.member_id}"
    scene.answers.append(scene.platform.client.patch(path, json={"role": role}))


@when("the account is deactivated")
def deactivated(desk: Desk) -> None:
    desk.run("UPDATE auth_user SET is_active = false WHERE id = %s", desk.member.user_id)


@when("the member signs out")
def signs_out(desk: Desk) -> None:
    headers = {"Authorization": f"Bearer {desk.token}"}
    url = f"{desk.servers[0]}/api/member-sessions/current"
    assert httpx.delete(url, headers=headers, timeout=60).status_code == 200
    assert httpx.delete(url, headers=headers, timeout=60).status_code == 401


def entries(scene: Scene, action: str) -> list[Json]:
    found = scene.platform.client.get("/api/audit", params={"action": action})
    listed: list[Json] = found.json()["data"]
    return listed


@then("the audit shows the log-in by the member")
def audited(scene: Scene, desk: Desk) -> None:
    _audited(scene, desk, "member.logged_in")


@then("the audit shows the failed log-in of the member")
def failure_audited(scene: Scene, desk: Desk) -> None:
    _audited(scene, desk, "member.login_failed")


def _audited(scene: Scene, desk: Desk, action: str) -> None:
    (entry,) = entries(scene, action)
    assert entry["actor"] == f"member:{desk.member.user_id}"
    assert PASSWORD not in str(entry)
    assert not re.search("hs_[A-Za-z0-9_-]{16}", str(entry))


@given(parsers.parse('a key with the scopes "{scopes}"'))
def a_key(desk: Desk, scene: Scene, scopes: str) -> None:
    body: dict[str, Any] = {"name": "hr", "scopes": scopes.split(", ")}
    desk.key = scene.platform.made("/api/keys", body)["secret_key"]


@when(parsers.parse('that key adds a member with the role "{role}"'))
def adds(desk: Desk, scene: Scene, role: str) -> None:
    headers = {"Authorization": f"Bearer {desk.key}"}
    body = {"username": f"person-{new_key()}", "role": role}
    scene.answers.append(scene.platform.client.post("/api/members", json=body, headers=headers))


@then("nobody was added")
def nobody_added(scene: Scene) -> None:
    assert scene.platform.client.get("/api/members").json()["data"] == []


@when(parsers.parse('the platform releases a hold on behalf of "{name}"'))
def releases_for(scene: Scene, name: str) -> None:
    _release(scene, name.encode())


@when("the platform releases a hold on behalf of a name with a line break")
def releases_for_nobody(scene: Scene) -> None:
    _release(scene, "Ann\u2028Bo".encode())


def _release(scene: Scene, name: bytes) -> None:
    sale = scene.platform.on_sale(5)
    hold_id = scene.platform.place(sale).json()["hold_id"]
    client = scene.platform.client
    headers = {b"x-acting-user": name}
    scene.answers.append(client.post(f"/api/holds/{hold_id}/release", headers=headers, json={}))


@then("the request succeeds")
def succeeds(scene: Scene) -> None:
    assert scene.answer.status_code == 200, scene.answer.text
