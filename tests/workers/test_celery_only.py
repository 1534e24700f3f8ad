"""An installation whose background work is done by Celery alone: the servers run no duties, and
there are no other processes."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from kombu.connection import Connection

from holdfast.adapters.rabbitmq.connections import connected
from holdfast.adapters.rabbitmq.topology import FACTS, declare
from holdfast.bootstrap.duties import TaskQueue
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.workers.app import create_app
from tests.consuming.shop import order_confirmed
from tests.contract.worlds import PostgresWorld
from tests.relay.stage import Stage, staged
from tests.support.brokers import BrokerAddress, BrokerUnderTest
from tests.support.databases import is_engine_blocked
from tests.support.inventory_service import InventoryService
from tests.support.patience import wait_until
from tests.support.platform import Platform, Sale, new_platform
from tests.support.rabbit import RabbitBroker
from tests.support.servers import INSTALLATION_SECRET, RunningServer
from tests.workers.commands import CELERY
from tests.workers.conftest import Start
from tests.workers.lapsing import statuses
from tests.workers.test_celery import ready, send

HEARD = "of-the-test"


@pytest.fixture
def served(
    make_server: Callable[..., RunningServer],
    fresh_database_url: str,
    rabbit_alone: BrokerUnderTest,
) -> Platform:
    """A platform whose server does no background work."""
    server = make_server(
        fresh_database_url, HOLDFAST_DUTIES="none", AMQP_URL=rabbit_alone.address.url
    )
    server.start()
    return new_platform(server.base_url, fresh_database_url)


def listen(amqp_url: str, *types: str) -> None:
    """Bind a queue of another service to our facts."""
    with connected(amqp_url) as connection:
        channel = connection.channel()
        declare(channel)
        channel.queue_declare(HEARD, durable=True, auto_delete=False)
        for each in types:
            channel.queue_bind(HEARD, FACTS, each)


def heard(amqp_url: str) -> list[dict[str, Any]]:
    """The messages in that queue so far; takes them."""
    found = []
    with Connection(amqp_url) as connection:  # type: ignore[no-untyped-call]
        channel = connection.default_channel
        while (raw := channel.basic_get(HEARD, no_ack=True)) is not None:
            found.append(json.loads(raw.body))
    return found


def placed(platform: Platform, sale: Sale) -> dict[str, Any]:
    made = platform.place(sale)
    assert made.status_code == 201, made.text
    return dict(made.json())


def status(platform: Platform, hold: dict[str, Any]) -> str:
    return str(platform.client.get(f"/api/holds/{hold['hold_id']}").json()["status"])


def test_celerys_own_commands_expire_a_hold_and_publish_it(
    served: Platform,
    fresh_database_url: str,
    rabbit_alone: BrokerUnderTest,
    start: Start,
) -> None:
    amqp_url = rabbit_alone.address.url
    listen(amqp_url, "hold.expired")
    hold = placed(served, served.on_sale(10, hold_policy={"ttl_seconds": 1}))
    settings = {
        "AMQP_URL": amqp_url,
        "DATABASE_URL": fresh_database_url,
        "HOLDFAST_SECRET_KEY": INSTALLATION_SECRET,
        "HOLDFAST_REAPER_BEAT_SECONDS": "1",
    }
    worker = start("worker", program=CELERY, **settings)
    # The worker works, but without beat nobody tells it what is due.
    send(amqp_url, "holdfast.audit_books")
    worker.wait_for("books.audited")
    wait_until(lambda: status(served, hold) == "expired", "its time is up")
    assert (statuses(fresh_database_url), heard(amqp_url)) == ({"active": 1}, [])

    beat = start("beat", program=CELERY, **settings)
    wait_until(lambda: ready(amqp_url, HEARD) == 1, "it is published")
    (message,) = heard(amqp_url)
    assert (message["event_type"], message["payload"]["hold_id"]) == (
        "hold.expired",
        hold["hold_id"],
    )
    assert statuses(fresh_database_url) == {"expired": 1}
    assert (worker.stop(), beat.stop()) == (0, 0)


def test_a_hold_is_reconciled_with_the_service_that_counts_its_tickets(
    make_server: Callable[..., RunningServer],
    fresh_database_url: str,
    rabbit_alone: BrokerUnderTest,
    start: Start,
) -> None:
    """This one reads no messages: it learns of the release by the reconciler alone."""
    with InventoryService() as inventory:
        settings = {"AMQP_URL": rabbit_alone.address.url, **inventory.environment()}
        server = make_server(fresh_database_url, HOLDFAST_DUTIES="none", **settings)
        server.start()
        platform = new_platform(server.base_url, fresh_database_url)
        hold = placed(platform, platform.on_sale(10))
        platform.client.post(f"/api/holds/{hold['hold_id']}/release").raise_for_status()
        assert inventory.status(hold["hold_id"]) == "held"
        settings |= {"DATABASE_URL": fresh_database_url, "HOLDFAST_SECRET_KEY": INSTALLATION_SECRET}
        start("worker", "--queue", "cleanup", **settings)
        start("beat", **settings)
        wait_until(lambda: inventory.status(hold["hold_id"]) == "released", "it is told")


def test_a_paid_order_is_taken_and_confirmed_by_mail(
    served: Platform, fresh_database_url: str, rabbit_alone: BrokerUnderTest, start: Start
) -> None:
    broker = rabbit_alone.address
    hold = placed(served, served.on_sale(10))
    organization_id = UUID(served.organization_id)

    def pay(hold_id: str) -> None:
        payload = {"payment_reference": "pay-1", "hold_ids": [hold_id]}
        broker.send_to_us(order_confirmed(organization_id, payload))

    pay(hold["hold_id"])
    pay(str(UUID(int=1)))
    settings = {
        "AMQP_URL": broker.url,
        "DATABASE_URL": fresh_database_url,
        "HOLDFAST_SECRET_KEY": INSTALLATION_SECRET,
    }
    start("beat", **settings)
    worker = start("worker", HOLDFAST_NOTIFIER="console", **settings)
    wait_until(lambda: status(served, hold) == "converted", "the order is taken")
    wait_until(lambda: "Subject: " in worker.log.read_text(), "the mail is sent")
    wait_until(lambda: len(broker.dead_letters().peek(5)) == 1, "the other is put aside")
    (letter,) = broker.dead_letters().peek(5)
    assert letter.reason.startswith("hold_not_found")
    failed = "SELECT count(*) FROM audit WHERE action = 'hold.convert_failed'"
    wait_until(lambda: _count(fresh_database_url, failed) == 1, "the refusal is audited")


def _count(url: str, query: str) -> int:
    with psycopg.connect(url) as connection:
        ((count,),) = connection.execute(query.encode()).fetchall()
    return int(count)


def relay_settings(stage: Stage, broker: BrokerAddress) -> dict[str, str]:
    return {"AMQP_URL": broker.url, "DATABASE_URL": stage.url}


@pytest.fixture
def stage(world: PostgresWorld) -> Any:
    with staged(world.url) as stage:
        yield stage


def test_a_relay_that_is_killed_before_its_cursor_moves_publishes_again(
    stage: Stage, rabbit_alone: BrokerUnderTest, start: Start
) -> None:
    """And while it is stuck, the other worker expires holds."""
    broker = rabbit_alone.address
    settings = relay_settings(stage, broker)
    first = start("worker", "--queue", "relay", **settings)
    stage.place(20)
    send(broker.url, "holdfast.relay")
    stage.wait_until_relayed()
    holds = stage.place_and_release(20)
    with psycopg.connect(stage.url) as connection:
        connection.execute("LOCK TABLE relay_cursor IN EXCLUSIVE MODE")
        send(broker.url, "holdfast.relay")
        wait_until(lambda: is_engine_blocked(stage.url), "facts are published, the cursor is not")
        start("worker", "--queue", "cleanup", **settings)
        stage.world.let_pass(stage.venue, 660)
        send(broker.url)
        wait_until(lambda: statuses(stage.url).get("expired") == 20, "the others are expired")
        first.kill()
    start("worker", "--queue", "relay", **settings)
    send(broker.url, "holdfast.relay")
    stage.wait_until_relayed()
    messages = broker.published()
    stage.assert_arrived(messages)
    assert len(messages) > len({message.id for message in messages}), "nothing was published twice"
    assert len(holds) == 20


def test_two_workers_publish_no_fact_twice(
    stage: Stage, rabbit_alone: BrokerUnderTest, start: Start
) -> None:
    broker = rabbit_alone.address
    workers = [
        start("worker", "--queue", "relay", **relay_settings(stage, broker)) for _ in range(2)
    ]
    for _ in range(4):
        stage.place_and_release(30)
        send(broker.url, "holdfast.relay")
        send(broker.url, "holdfast.relay")
    send(broker.url, "holdfast.relay")
    stage.wait_until_relayed()
    assert [worker.stop() for worker in workers] == [0, 0]
    stage.assert_arrived(broker.published(), once=True)


def test_the_relay_goes_on_after_a_restart_of_rabbitmq(
    stage: Stage, rabbit: RabbitBroker, rabbit_alone: BrokerUnderTest, start: Start
) -> None:
    broker = rabbit_alone.address
    settings = relay_settings(stage, broker)
    worker, beat = start("worker", **settings), start("beat", **settings)
    stage.place(20)
    stage.wait_until_relayed()
    rabbit.restart()
    stage.place(20)
    stage.wait_until_relayed()
    assert (worker.process.poll(), beat.process.poll()) == (None, None)
    stage.assert_arrived(broker.published())


def test_each_task_has_the_queue_of_its_subject() -> None:
    routes = create_app(Settings(amqp_url="amqp://localhost")).conf.task_routes
    queues = {task: route["queue"] for task, route in routes.items()}
    assert queues["holdfast.release_expired"] == TaskQueue.CLEANUP
    assert queues["holdfast.relay"] == TaskQueue.RELAY
    assert queues["holdfast.consume"] == TaskQueue.MESSAGES
