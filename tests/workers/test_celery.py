"""Beat and workers on a real RabbitMQ: lapsed holds expire, whichever process is killed."""

import os
import signal
from collections.abc import Callable

import psycopg
from kombu.connection import Connection

from holdfast.bootstrap.duties import TaskQueue
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.workers.app import create_app
from tests.contract.venues import Venue
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import assert_sound
from tests.support.databases import is_engine_blocked
from tests.support.patience import wait_until
from tests.support.rabbit import RabbitBroker
from tests.workers.conftest import Start
from tests.workers.lapsing import statuses, times_expired

Lapse = Callable[[int], Venue]
NOBODY = "postgresql://holdfast@127.0.0.1:1/nothing"


def send(amqp_url: str, task: str = "holdfast.release_expired") -> None:
    app = create_app(Settings(amqp_url=amqp_url))
    app.send_task(task)
    app.close()


def ready(amqp_url: str, queue: str) -> int | None:
    """The number of messages in the queue; None if there is no such queue."""
    with Connection(amqp_url) as connection:  # type: ignore[no-untyped-call]
        try:
            return int(connection.default_channel.queue_declare(queue, passive=True).message_count)
        except connection.channel_errors:
            return None


def wait_for_expiry(url: str, holds: int) -> None:
    wait_until(lambda: statuses(url) == {"expired": holds}, "the holds are expired")


def wait_until_stuck(url: str) -> None:
    wait_until(lambda: is_engine_blocked(url), "a reaper is in the middle")


def test_beat_and_a_worker_expire_lapsed_holds(
    rabbit: RabbitBroker, world: PostgresWorld, lapse: Lapse, start: Start
) -> None:
    lapse(5)
    amqp_url = rabbit.new_vhost()
    beat = start("beat", AMQP_URL=amqp_url, HOLDFAST_REAPER_BEAT_SECONDS="1")
    worker = start("worker", "--queue", "cleanup", AMQP_URL=amqp_url, DATABASE_URL=world.url)
    wait_for_expiry(world.url, 5)
    worker.wait_for("reaper.run")
    (run,) = worker.lines("reaper.run")
    assert (run["expired_holds"], run["processed_successfully"]) == (5, 5)
    assert (run["processed_failed"], run["tickets_released"]) == (0, 10)
    assert run["duration_ms"] >= 0
    (started,) = beat.lines("beat.started")
    assert started["seconds"]["holdfast.release_expired"] == 1
    assert (worker.stop(), beat.stop()) == (0, 0)
    assert ready(amqp_url, TaskQueue.CLEANUP) is not None
    # None of the queues that Celery would make for delayed tasks.
    assert ready(amqp_url, "celery_delayed_0") is None
    assert_sound(world.url, grace_seconds=1)


def test_the_task_of_a_killed_worker_is_done_by_the_next(
    rabbit: RabbitBroker, world: PostgresWorld, lapse: Lapse, start: Start
) -> None:
    venue = lapse(5)
    amqp_url = rabbit.new_vhost()
    first = start("worker", AMQP_URL=amqp_url, DATABASE_URL=world.url)
    with world.locked_elsewhere(venue, venue.pools["floor"]):
        send(amqp_url)
        wait_until_stuck(world.url)
        first.kill()
    assert statuses(world.url) == {"active": 5}
    start("worker", AMQP_URL=amqp_url, DATABASE_URL=world.url)
    wait_for_expiry(world.url, 5)
    assert times_expired(world.url) == {1: 5}


def test_a_task_that_kills_three_processes_is_dropped(
    rabbit: RabbitBroker, world: PostgresWorld, lapse: Lapse, start: Start
) -> None:
    """Each attempt kills its process; the worker replaces it and continues."""
    venue = lapse(1)
    amqp_url = rabbit.new_vhost()
    worker = start("worker", AMQP_URL=amqp_url, DATABASE_URL=world.url)
    with world.locked_elsewhere(venue, venue.pools["floor"]):
        send(amqp_url)
        for _ in range(3):
            wait_until_stuck(world.url)
            (child,) = worker.children()
            os.kill(child, signal.SIGKILL)
            wait_until(lambda: not is_engine_blocked(world.url), "its connection is gone")
        send(amqp_url)
        wait_until_stuck(world.url)
    wait_for_expiry(world.url, 1)
    # The first task would have come before the second.
    (warning,) = worker.lines("task.last_attempt")
    assert (warning["task"], warning["attempt"]) == ("holdfast.release_expired", 3)


def test_a_task_that_fails_three_times_is_dropped_with_a_log_entry(
    rabbit: RabbitBroker, start: Start
) -> None:
    amqp_url = rabbit.new_vhost()
    worker = start("worker", AMQP_URL=amqp_url, DATABASE_URL=NOBODY)
    send(amqp_url)
    worker.wait_for("task.given_up")
    assert [line["attempt"] for line in worker.lines("task.failed")] == [1, 2]
    (given_up,) = worker.lines("task.given_up")
    assert (given_up["attempt"], given_up["level"]) == (3, "error")
    assert given_up["problem"] == "StoreUnavailable"
    worker.kill()
    assert ready(amqp_url, TaskQueue.CLEANUP) == 0


def test_a_worker_can_do_every_duty(
    rabbit: RabbitBroker, world: PostgresWorld, lapse: Lapse, start: Start
) -> None:
    lapse(2)
    amqp_url = rabbit.new_vhost()
    worker = start("worker", AMQP_URL=amqp_url, DATABASE_URL=world.url)
    with psycopg.connect(world.url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO inbox (organization_id, consumer, event_id, received_at)"
            " VALUES (gen_random_uuid(), 'test', gen_random_uuid(), now() - interval '31 days')"
        )
    for task in ("holdfast.prune", "holdfast.audit_books"):
        send(amqp_url, task)
    worker.wait_for("books.audited")
    (pruned,) = worker.lines("pruner.run")
    assert (pruned["answers"], pruned["facts"], pruned["receipts"]) == (0, 0, 1)
    (audited,) = worker.lines("books.audited")
    assert (audited["unsound"], audited["level"]) == (0, "info")


def test_messages_expire_before_the_next_is_sent() -> None:
    settings = Settings(amqp_url="amqp://localhost", holdfast_reaper_beat_seconds=60)
    schedule = create_app(settings).conf.beat_schedule
    assert schedule["holdfast.release_expired"]["schedule"] == 60
    assert all(each["options"]["expires"] == each["schedule"] for each in schedule.values())
    silent = Settings(amqp_url="amqp://localhost", holdfast_audit_minutes=0)
    assert "holdfast.audit_books" not in create_app(silent).conf.beat_schedule
