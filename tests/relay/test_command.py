"""`holdfast relay` as a process."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.ports.facts.log import PARTITIONS
from tests.relay.restoring import migrated, pretend_to_be_restored
from tests.relay.stage import Stage
from tests.support.brokers import BrokerUnderTest
from tests.support.patience import wait_until

COMMAND = [sys.executable, "-m", "holdfast.entrypoints.cli.main", "relay"]
STOP_SECONDS_MAX = 20
SECRET = "a secret of at least 32 characters"


def environment(stage: Stage, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "HOLDFAST" not in name}
    return {**kept, "DATABASE_URL": stage.url, **more}


def of_broker(broker: BrokerUnderTest) -> dict[str, str]:
    name = "AMQP_URL" if broker.address.kind == "rabbitmq" else "REDIS_URL"
    return {name: broker.address.url}


def status(stage: Stage) -> str:
    done = subprocess.run(
        [*COMMAND, "--status"],
        env=environment(stage),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


@contextmanager
def running(stage: Stage, log: Path, **more: str) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("ab") as output:
        process = subprocess.Popen(
            COMMAND, env=environment(stage, **more), stdout=output, stderr=output
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_it_relays_until_a_signal_stops_it(
    stage: Stage, broker: BrokerUnderTest, tmp_path: Path
) -> None:
    stage.place_and_release(5)
    assert "waiting         10\n" in status(stage)
    settings = {**of_broker(broker), "HOLDFAST_SECRET_KEY": SECRET}
    with running(stage, tmp_path / "log", **settings) as process:
        stage.wait_until_relayed()
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_SECONDS_MAX) == 0
    assert (tmp_path / "log").read_text().count('"event":"relay.started"') == 1
    shown = status(stage)
    assert shown.startswith("waiting         0\noldest_seconds  0.0\n")
    cursors = dict(re.findall(r"^partition (\d) +(\d+\.\d+) ", shown, re.MULTILINE))
    assert set(map(int, cursors)) == set(range(PARTITIONS))
    moved = {int(partition) for partition, position in cursors.items() if position != "0.0"}
    assert moved == {fact.partition for fact in stage.stored()}
    messages = broker.address.published()
    stage.assert_arrived(messages, once=True)
    # One buyer gives one hash, and the buyer appears nowhere.
    assert len({message.headers["cloudEvents:holderhash"] for message in messages}) == 1


def test_without_a_broker_it_exits_with_a_message(stage: Stage) -> None:
    done = subprocess.run(
        COMMAND, env=environment(stage), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.startswith("holdfast: AMQP_URL or REDIS_URL: one must be set")


def test_log_entries_contain_no_host_name(
    stage: Stage, rabbit_alone: BrokerUnderTest, tmp_path: Path
) -> None:
    """With nobody listening, and with no broker at all."""
    stage.place(1)
    log = tmp_path / "log"
    unheard = {**of_broker(rabbit_alone), "HOLDFAST_FACTS_QUEUE": "none"}
    with running(stage, log, **unheard):
        wait_until(lambda: "relay.unroutable" in log.read_text(), "it is logged")
    with running(stage, log, AMQP_URL="amqp://guest:secret@127.0.0.1:1/"):
        wait_until(lambda: "relay.failed" in log.read_text(), "it is logged")
    text = log.read_text()
    assert '"types":["hold.created"]' in text
    assert "ConnectionRefusedError" in text
    for secret in ("127.0.0.1", "amqp://", "secret", "buyer", "Traceback"):
        assert secret not in text


def test_after_a_restore_it_asks_for_a_migration_and_continues_after_it(
    stage: Stage, rabbit_alone: BrokerUnderTest, tmp_path: Path
) -> None:
    stage.place(5)
    pretend_to_be_restored(stage.url)
    asked = subprocess.run(
        [*COMMAND, "--status"],
        env=environment(stage),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert asked.returncode == 1
    assert asked.stdout == ""
    assert "`holdfast migrate`" in asked.stderr
    log = tmp_path / "log"
    with running(stage, log, **of_broker(rabbit_alone)):
        wait_until(lambda: "relay.stands_still" in log.read_text(), "it is logged")
        assert "run holdfast migrate" in log.read_text()
        migrated(stage.url)
        stage.wait_until_relayed()
    stage.assert_arrived(rabbit_alone.address.published(), once=True)


def test_without_a_database_it_fails_with_one_sentence() -> None:
    address = "postgresql://holdfast@127.0.0.1:1/nowhere"
    done = subprocess.run(
        [*COMMAND, "--status"],
        env={**os.environ, "DATABASE_URL": address},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "holdfast: the outbox cannot be read: is PostgreSQL running and migrated?\n"
    )
