"""The private Valkey starts, stops, and never outlives its owner."""

from __future__ import annotations

import os
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from holdfast.adapters.embedded import EmbeddedServiceError, EmbeddedValkey
from holdfast.adapters.embedded.files import marker_for
from holdfast.adapters.embedded.processes import find_marked, wait_until_gone

if TYPE_CHECKING:
    from tests.embedded.conftest import OwnerFactory

GONE_WITHIN_SECONDS = 5.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey(
        tmp_path_factory.mktemp("valkey") / 'with a space and a " in it'
    ) as running:
        yield running


@pytest.fixture
def client(server: EmbeddedValkey) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url, decode_responses=True) as connected:
        yield connected


def test_it_answers_at_its_url_and_keeps_nothing_on_disk(client: redis.Redis) -> None:
    assert client.set("key", "value")
    assert client.get("key") == "value"
    assert client.config_get("appendonly", "save", "bind") == {
        "appendonly": "no",
        "save": "",
        "bind": "127.0.0.1",
    }


def test_a_password_is_required(server: EmbeddedValkey) -> None:
    once = Retry(NoBackoff(), 0)
    for password in (None, "wrong"):
        with (
            redis.Redis(port=server.port, password=password, retry=once) as stranger,
            pytest.raises(redis.AuthenticationError),
        ):
            stranger.ping()


def test_the_password_is_private(server: EmbeddedValkey) -> None:
    password = (server.directory / "valkey.password").read_text()
    assert password in server.url
    for name in ("valkey.password", "valkey.conf"):
        assert stat.S_IMODE((server.directory / name).stat().st_mode) == 0o600
    assert password not in Path(f"/proc/{server.pid}/cmdline").read_text()
    assert password not in server.log.read_text()


def test_a_client_cannot_move_its_files_elsewhere(client: redis.Redis) -> None:
    with pytest.raises(redis.ResponseError, match="protected"):
        client.config_set("dir", "/tmp")


def test_a_restart_keeps_the_address(tmp_path: Path) -> None:
    service = EmbeddedValkey(tmp_path)
    with service:
        url = service.url
    assert find_marked(marker_for("valkey", tmp_path)) == []
    with service:
        assert service.url == url
        service.kill()
        assert find_marked(marker_for("valkey", tmp_path)) == []
        assert not service.is_running


def test_settings_can_persist_data_over_a_restart(tmp_path: Path) -> None:
    settings = {"appendonly": "yes", "save": "3600 1 300 100"}
    for expected in (None, b"value"):
        with (
            EmbeddedValkey(tmp_path, settings=settings) as service,
            redis.Redis.from_url(service.url) as client,
        ):
            assert client.get("key") == expected
            client.set("key", "value")


def test_a_killed_owner_leaves_no_process(tmp_path: Path, start_owner: OwnerFactory) -> None:
    owner = start_owner("EmbeddedValkey", tmp_path)
    with redis.Redis.from_url(owner.url) as client:
        assert client.ping()
        owner.kill()
        assert wait_until_gone(owner.marker, GONE_WITHIN_SECONDS) == []
    with EmbeddedValkey(tmp_path) as service, redis.Redis.from_url(service.url) as client:
        assert client.ping()
        assert service.url == owner.url


def test_a_killed_owner_leaves_no_process_even_during_an_endless_script(
    tmp_path: Path, start_owner: OwnerFactory
) -> None:
    owner = start_owner("EmbeddedValkey", tmp_path)
    with (
        redis.Redis.from_url(owner.url, socket_timeout=0.3, retry=None) as client,
        pytest.raises(redis.TimeoutError),
    ):
        client.eval("while true do end", 0)
    owner.kill()
    assert wait_until_gone(owner.marker, GONE_WITHIN_SECONDS) == []


def test_stop_takes_bounded_time_if_the_server_ignores_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddedValkey, "stop_steps", ((signal.SIGTERM, 0.2),))
    service = EmbeddedValkey(tmp_path)
    service.start()
    os.kill(service.pid, signal.SIGSTOP)
    service.stop()
    assert find_marked(marker_for("valkey", tmp_path)) == []


def test_a_bad_setting_is_reported_with_the_log(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedServiceError) as caught:
        EmbeddedValkey(tmp_path, settings={"no-such-setting": "1"}).start()
    first, *rest = str(caught.value).splitlines()
    assert first == "Valkey did not start: it ended with status 1."
    assert "no-such-setting" in "\n".join(rest)
    with pytest.raises(EmbeddedServiceError, match="line break"):
        EmbeddedValkey(tmp_path, settings={"appendonly": "no\nport 1"}).start()


def test_a_taken_port_is_replaced_or_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as blocker:
        taken = blocker.getsockname()[1]
        with pytest.raises(EmbeddedServiceError, match=f"port {taken} is already in use"):
            EmbeddedValkey(tmp_path, port=taken).start()
        (tmp_path / "valkey.port").write_text(f"{taken}\n")
        with EmbeddedValkey(tmp_path) as service:
            assert service.port != taken


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as service:
        with pytest.raises(EmbeddedServiceError, match="already in use by process"):
            EmbeddedValkey(tmp_path, takeover_timeout_seconds=0.1).start()
        assert service.is_running
