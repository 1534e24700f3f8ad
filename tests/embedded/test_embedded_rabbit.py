"""The private RabbitMQ starts, keeps what it has, and never outlives its owner."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kombu.connection import Connection

from holdfast.adapters.embedded import EmbeddedServiceError, debian, installation
from holdfast.adapters.embedded.files import marker_for
from holdfast.adapters.embedded.processes import find_marked, wait_until_gone
from holdfast.adapters.embedded.rabbit import EmbeddedRabbit
from tests.support.debian import CACHE
from tests.support.patience import PATIENCE_SECONDS, wait_until
from tests.support.rabbit import RabbitBroker

OWNER = """
import sys, time
from pathlib import Path
from holdfast.adapters.embedded.rabbit import EmbeddedRabbit

EmbeddedRabbit(Path(sys.argv[1]), Path(sys.argv[2])).start()
print("started", flush=True)
time.sleep(600)
"""


def test_it_keeps_its_messages_its_port_and_its_password(
    rabbit: RabbitBroker, tmp_path: Path
) -> None:
    del rabbit  # it is there, or this test is skipped
    broker = EmbeddedRabbit(tmp_path / "with a space", CACHE)
    with broker:
        url = broker.url
        os.kill(broker.pid, signal.SIGKILL)
        wait_until(lambda: not broker.is_running, "the server is gone")
        broker.revive()
        assert broker.url == url
        with Connection(url) as connection:  # type: ignore[no-untyped-call]
            connection.SimpleQueue("kept").put("a message")
    with broker:
        assert broker.url == url
        with Connection(url) as connection:  # type: ignore[no-untyped-call]
            message = connection.SimpleQueue("kept").get(timeout=PATIENCE_SECONDS)
            assert message.payload == "a message"
    assert find_marked(marker_for("rabbitmq", broker.directory)) == []


def test_it_ends_with_its_owner(rabbit: RabbitBroker, tmp_path: Path) -> None:
    del rabbit
    command = [sys.executable, "-c", OWNER, str(tmp_path), str(CACHE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "started\n"
        marker = marker_for("rabbitmq", tmp_path)
        assert len(find_marked(marker)) == 2, "the server and its port mapper"
        owner.kill()
        assert wait_until_gone(marker, PATIENCE_SECONDS) == []


def test_without_rabbitmq_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation.RabbitInstallation, "is_there", False)
    monkeypatch.setenv("PATH", str(tmp_path))  # where there is no apt-get
    with pytest.raises(EmbeddedServiceError, match="RabbitMQ is not installed"):
        EmbeddedRabbit(tmp_path, tmp_path / "packages").start()


def test_a_failed_download_leaves_nothing_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("apt-get", "dpkg-deb"):
        (programs / name).write_text("#!/bin/sh\nexit 1\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    kept = tmp_path / "packages" / "some"
    for _ in range(2):
        assert debian.unpack(["some"], kept) is None
    assert [path.name for path in kept.parent.iterdir()] == ["lock"]
