"""API keys, on two servers that share a database."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from holdfast.bootstrap.accounts import create_organization
from holdfast.bootstrap.keys import KeyDesk
from holdfast.bootstrap.settings import Settings
from holdfast.domain.access.keys import IssuedKey
from holdfast.domain.access.scopes import ALL_SCOPES, Mode
from tests.features.scene import Scene
from tests.support.patience import wait_until
from tests.support.platform import Json, Platform, Sale
from tests.support.servers import RunningServer

scenarios("keys.feature")


@pytest.fixture(scope="module")
def second_server(
    database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    log = tmp_path_factory.mktemp("second") / "server.log"
    with RunningServer(database_url, Path(log)) as running:
        yield running


@dataclass
class KeyScene:
    servers: tuple[str, ...]
    key: Json = field(default_factory=dict)
    new: Json = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    sides: dict[Mode, Platform] = field(default_factory=dict)
    sale: Sale | None = None

    def statuses(self, key: Json) -> set[int]:
        """What every server answers to the key."""
        return {get(url, "/api/holds", key["secret_key"]).status_code for url in self.servers}


@pytest.fixture
def keys(server: RunningServer, second_server: RunningServer) -> KeyScene:
    return KeyScene((server.base_url, second_server.base_url))


def get(base_url: str, path: str, secret: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {secret}"}
    return httpx.get(base_url + path, headers=headers, timeout=60)


def issue(scene: Scene, keys: KeyScene, scopes: str, **more: Any) -> Json:
    body = {"name": "scanner", "scopes": scopes.split(", "), **more}
    issued = scene.platform.made("/api/keys", body)
    keys.secrets.append(issued["secret_key"])
    return issued


def post(scene: Scene, key: Json, path: str, body: Json) -> None:
    headers = {"Authorization": f"Bearer {key['secret_key']}"}
    scene.answers.append(scene.platform.client.post(path, json=body, headers=headers))


@when(parsers.parse('the platform creates a key for "scanner" with the scopes "{scopes}"'))
@given(parsers.parse('a key with the scopes "{scopes}"'))
def a_key(scene: Scene, keys: KeyScene, scopes: str) -> None:
    keys.key = keys.new = issue(scene, keys, scopes)


@given(parsers.parse('a key with the scopes "{scopes}" that expires in 1 hour'))
def an_expiring_key(scene: Scene, keys: KeyScene, scopes: str) -> None:
    expires_at = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    keys.key = issue(scene, keys, scopes, expires_at=expires_at)


@given("the key has been used on every server")
@then("the key works")
def the_key_works(keys: KeyScene) -> None:
    assert keys.statuses(keys.key) == {200}


@then("the new key can read holds")
def reads_holds(keys: KeyScene) -> None:
    assert keys.statuses(keys.new) == {200}
    assert set(keys.new["scopes"]) == {
        *("catalog:read", "holds:read", "holds:write", "orders:read", "tokens:write"),
        "facts:read",
    }


@then("the new key cannot create an event")
def creates_no_event(scene: Scene, keys: KeyScene) -> None:
    post(scene, keys.new, "/api/events", {"name": "Gala", "currency": "EUR"})
    assert scene.answer.json()["error"] == "insufficient_scope"


@then("the secret is shown only in the response that created the key")
def shown_once(scene: Scene, keys: KeyScene) -> None:
    one = scene.platform.client.get(f"/api/keys/{keys.new['key_id']}")
    listed = scene.platform.client.get("/api/keys")
    assert one.json()["prefix"] == keys.new["secret_key"][:12]
    assert one.json()["key_id"] in [key["key_id"] for key in listed.json()["data"]]
    for answer in (one, listed):
        assert "secret_key" not in answer.text
        assert keys.new["secret_key"] not in answer.text


@when(parsers.parse('that key creates a key with the scopes "{scopes}"'))
def that_key_creates(scene: Scene, keys: KeyScene, scopes: str) -> None:
    post(scene, keys.key, "/api/keys", {"name": "more", "scopes": scopes.split(", ")})


@then("no key was created")
def no_key_was_created(scene: Scene) -> None:
    listed = scene.platform.client.get("/api/keys").json()["data"]
    assert sorted(key["name"] for key in listed) == ["first key", "scanner"]


def own_key(scene: Scene) -> Json:
    listed = scene.platform.client.get("/api/keys").json()["data"]
    return next(dict(key) for key in listed if key["name"] == "first key")


@when("that key rotates the platform's own key")
def that_key_rotates(scene: Scene, keys: KeyScene) -> None:
    post(scene, keys.key, f"/api/keys/{own_key(scene)['key_id']}/rotate", {})


@then("the platform's own key still works")
def own_key_works(scene: Scene) -> None:
    assert own_key(scene)["status"] == "valid"
    assert "expires_at" not in own_key(scene)


@when("the key is rotated with an overlap of 1 hour")
def the_key_is_rotated(scene: Scene, keys: KeyScene) -> None:
    path = f"/api/keys/{keys.key['key_id']}/rotate"
    keys.new = scene.platform.made(path, {"overlap_seconds": 3600})
    keys.secrets.append(keys.new["secret_key"])
    assert keys.new["replaces"] == keys.key["key_id"]
    assert keys.new["scopes"] == keys.key["scopes"]


@then("the old key and the new key both work")
def both_work(keys: KeyScene) -> None:
    assert keys.statuses(keys.key) == keys.statuses(keys.new) == {200}


@when("the overlap ends")
@when("the hour has passed")
def the_overlap_ends(scene: Scene, keys: KeyScene) -> None:
    changed = "UPDATE api_key SET expires_at = expires_at - interval '1 hour' WHERE id = %s"
    scene.owner.run(changed, keys.key["key_id"])


@when("the key is revoked")
def the_key_is_revoked(scene: Scene, keys: KeyScene) -> None:
    answer = scene.platform.client.post(f"/api/keys/{keys.key['key_id']}/revoke")
    assert answer.json()["status"] == "revoked", answer.text
    # The server that revoked it does not accept it any more, without a moment's delay.
    own = get(keys.servers[0], "/api/holds", keys.key["secret_key"])
    assert own.status_code == 401


@then("no server accepts the key")
def no_server_accepts(keys: KeyScene) -> None:
    wait_until(lambda: keys.statuses(keys.key) == {401}, "every server refuses the key")


@then("only the new key works")
def only_the_new_key_works(keys: KeyScene) -> None:
    no_server_accepts(keys)
    assert keys.statuses(keys.new) == {200}


@given("an organization with a test key and a live key")
def an_organization(keys: KeyScene, server: RunningServer) -> None:
    settings = Settings(database_url=server.database_url)
    test_id, secret = create_organization(settings, "Two sides", Mode.TEST)
    keys.sides[Mode.TEST] = Platform(server.base_url, secret, str(test_id))
    ring = KeyDesk(settings).ring(test_id, Mode.LIVE)
    issued = ring.create("live", ALL_SCOPES, None).outcome
    assert isinstance(issued, IssuedKey)
    assert issued.secret.startswith("hk_live_")
    live_id = str(ring.organization_id)
    keys.sides[Mode.LIVE] = Platform(server.base_url, issued.secret, live_id)


@when("the test key puts an event on sale")
def the_test_key_sells(keys: KeyScene) -> None:
    keys.sale = keys.sides[Mode.TEST].on_sale(5)


@then("the live key does not find the event")
def live_finds_nothing(keys: KeyScene) -> None:
    live = keys.sides[Mode.LIVE].client
    assert keys.sale is not None
    assert live.get(f"/api/events/{keys.sale.event_id}").status_code == 404
    assert live.get("/api/events").json()["data"] == []


@then("the live key cannot hold tickets for it")
def live_holds_nothing(keys: KeyScene) -> None:
    assert keys.sale is not None
    answer = keys.sides[Mode.LIVE].place(keys.sale)
    assert answer.json()["error"] == "invalid_session"
    assert keys.sides[Mode.TEST].available(keys.sale) == [5]


@then(parsers.parse('the audit shows "{actions}"'))
def the_audit_shows(scene: Scene, actions: str) -> None:
    entries = scene.platform.client.get("/api/audit").json()["data"]
    assert [entry["action"] for entry in reversed(entries)] == actions.split(", ")


@then("no entry contains a secret")
def no_secret(scene: Scene, keys: KeyScene) -> None:
    text = scene.platform.client.get("/api/audit").text
    for secret in keys.secrets:
        assert secret not in text
