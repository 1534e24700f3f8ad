"""Facts, published to the broker and polled."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from uuid import uuid4

import httpx
import psycopg
import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from holdfast.adapters.rabbitmq.connections import Channel, connected
from holdfast.adapters.rabbitmq.messages import from_raw
from holdfast.adapters.rabbitmq.topology import FACTS, declare
from tests.e2e.answers import problem_of
from tests.features.scene import Scene, scene_on
from tests.relay.contracts import Json, misfits, schema_of
from tests.support.databases import DatabaseFactory
from tests.support.patience import wait_until
from tests.support.platform import new_platform
from tests.support.rabbit import RabbitBroker
from tests.support.servers import RunningServer

scenarios("facts.feature")

QUEUE = "a-shop"


@dataclass
class Listener:
    """A shop's own queue, bound to every fact."""

    channel: Channel
    heard: list[Json] = field(default_factory=list)

    def hear(self) -> list[Json]:
        while (raw := self.channel.basic_get(QUEUE, no_ack=True)) is not None:
            self.heard.append(json.loads(from_raw(raw).body))
        return self.heard

    def about(self, hold_id: str) -> list[Json]:
        return [body for body in self.hear() if body["payload"].get("hold_id") == hold_id]

    def wait_for(self, hold_id: str, *kinds: str) -> list[Json]:
        wait_until(lambda: len(self.about(hold_id)) >= len(kinds), f"{kinds} arrive")
        published = self.about(hold_id)
        assert [body["event_type"] for body in published] == list(kinds)
        return published


@dataclass
class Polling:
    """A poller's cursor, its last answer, and transactions still open."""

    after: str | None = None
    answer: httpx.Response | None = None
    early_fact_id: str = ""
    open_transactions: ExitStack = field(default_factory=ExitStack)


@pytest.fixture
def polling() -> Iterator[Polling]:
    polling = Polling()
    with polling.open_transactions:
        yield polling


@pytest.fixture(scope="module")
def broker_url(rabbit: RabbitBroker) -> str:
    return rabbit.new_vhost()


@pytest.fixture(scope="module")
def relaying_server(
    databases: DatabaseFactory, broker_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    log = tmp_path_factory.mktemp("relaying") / "log"
    with RunningServer(databases.fresh(), log, {"AMQP_URL": broker_url}) as running:
        yield running


@pytest.fixture
def listener(broker_url: str) -> Iterator[Listener]:
    with connected(broker_url) as connection:
        channel = connection.channel()
        declare(channel)
        channel.queue_declare(QUEUE, durable=True, auto_delete=False)
        channel.queue_bind(QUEUE, FACTS, "#")
        yield Listener(channel)


@given("a server that relays to RabbitMQ", target_fixture="scene")
def a_relaying_server(relaying_server: RunningServer, listener: Listener) -> Scene:
    return scene_on(relaying_server)


@given("an earlier transaction that has written a fact and is still open")
def a_transaction_is_open(scene: Scene, polling: Polling) -> None:
    polling.early_fact_id = str(uuid4())
    connection = polling.open_transactions.enter_context(psycopg.connect(scene.owner.database_url))
    connection.execute(
        "INSERT INTO outbox (organization_id, event_id, hold_id, version, type, occurred_at,"
        " payload) VALUES (%s, %s, gen_random_uuid(), 1, 'hold.cancelled', now(), '{}')",
        [scene.platform.organization_id, polling.early_fact_id],
    )


@when("that transaction ends")
def the_transaction_ends(polling: Polling) -> None:
    polling.open_transactions.close()


@when("the expiry worker has recorded it")
def the_worker_has_recorded_it(scene: Scene) -> None:
    scene.owner.wait_for_status(scene.hold["hold_id"], "expired")


@when("all facts are polled")
def all_are_polled(scene: Scene, polling: Polling) -> None:
    wait_until(lambda: bool(_polled(scene, polling)), "there are facts")


@when("a month passes, and old facts are pruned")
def a_month_passes(scene: Scene) -> None:
    """Adds one more fact, and makes all of them old."""
    assert scene.platform.place(scene.sale).status_code == 201
    relayed = "SELECT waiting FROM holdfast_relay_lag(8, 1)"
    wait_until(lambda: scene.owner.rows(relayed) == [(0,)], "everything is relayed")
    scene.owner.run("UPDATE outbox SET occurred_at = occurred_at - interval '31 days'")
    for partition in range(8):
        scene.owner.rows("SELECT holdfast_prune_facts(%s::smallint, 0, 1000)", partition)
    assert not scene.owner.rows("SELECT FROM outbox")


@when(parsers.parse('facts are polled after "{cursor}"'))
def polled_after(scene: Scene, polling: Polling, cursor: str) -> None:
    polling.answer = _poll(scene, cursor)


@then(parsers.re(r"an? (?P<kind>hold\.\w+) message arrives, as the event schema requires"))
def a_message_arrives(scene: Scene, listener: Listener, kind: str) -> None:
    hold_id = scene.hold["hold_id"]
    kinds = ["hold.created"] if kind == "hold.created" else ["hold.created", kind]
    published = listener.wait_for(hold_id, *kinds)[-1]
    assert misfits(schema_of(kind), published) == []
    payload = {name: scene.hold[name] for name in ("hold_id", "session_id", "ticket_type_id")}
    payload |= {"quantity": 2}
    if kind == "hold.created":
        assert scene.sent[-1].body is not None
        payload["customer_email"] = scene.sent[-1].body["customer_email"]
        payload["expires_at"] = scene.hold["expires_at"]
        assert published["idempotency_key"] == published["event_id"]
    else:
        payload["freed_quantity"] = 2
    assert published["payload"] == payload
    assert published["aggregate_id"] == hold_id


@when("the organizer cancels the event")
def the_event_is_cancelled(scene: Scene) -> None:
    path = f"/api/events/{scene.sale.event_id}"
    answer = scene.platform.client.patch(path, json={"status": "cancelled"})
    assert answer.status_code == 200, answer.text


@then(parsers.parse('an event.changed message arrives: it was "{before}" and is "{after}"'))
def a_changed_event_arrives(scene: Scene, listener: Listener, before: str, after: str) -> None:
    def changes() -> list[Json]:
        kind = "event.changed"
        return [body for body in listener.hear() if body["event_type"] == kind]

    wait_until(lambda: bool(changes()), "the message arrives")
    (message,) = changes()
    assert misfits(schema_of("event.changed"), message) == []
    assert message["aggregate_id"] == scene.sale.event_id
    assert message["payload"]["old"] == {"status": before}
    assert message["payload"]["new"] == {"status": after}


@then("the same fact can be polled")
def the_same_can_be_polled(scene: Scene, listener: Listener) -> None:
    published = listener.about(scene.hold["hold_id"])
    polled = _of_holds(_poll(scene).json()["data"])
    assert [{**fact, "cursor": None} for fact in polled] == [
        {**fact, "cursor": None} for fact in published
    ]


@then(parsers.parse('polling returns "{kinds}" in this order'))
def these_are_polled(scene: Scene, polling: Polling, kinds: str) -> None:
    wanted, found = kinds.split(", "), []

    def poll() -> bool:
        found.extend(_polled(scene, polling))
        return len(found) >= len(wanted)

    wait_until(poll, kinds)
    assert [fact["event_type"] for fact in found] == wanted


@then("the same facts arrive, in this order")
def the_same_arrive(scene: Scene, listener: Listener) -> None:
    listener.wait_for(scene.hold["hold_id"], "hold.created", "hold.cancelled")


@then(parsers.parse('polling from there returns "{kinds}"'))
def from_there_on(scene: Scene, polling: Polling, kinds: str) -> None:
    these_are_polled(scene, polling, kinds)


@then("polling returns no facts yet")
def none_is_polled(scene: Scene, polling: Polling) -> None:
    assert scene.owner.facts(scene.hold["hold_id"])
    assert _polled(scene, polling) == []


@then('polling returns its fact, and then "hold.created"')
def its_fact_comes_first(scene: Scene, polling: Polling) -> None:
    these_are_polled(scene, polling, "hold.cancelled, hold.created")


@then("another organization sees no facts")
def another_polls_none(scene: Scene, relaying_server: RunningServer, polling: Polling) -> None:
    all_are_polled(scene, polling)
    other = new_platform(relaying_server.base_url, relaying_server.database_url)
    assert other.client.get("/api/facts").json()["data"] == []


@then(parsers.parse('polling from there fails with {status:d} "{error}"'))
def polling_fails(scene: Scene, polling: Polling, status: int, error: str) -> None:
    problem_of(_poll(scene, polling.after), status, error)


@then("polling from the beginning works")
def from_the_beginning(scene: Scene) -> None:
    answer = _poll(scene)
    assert (answer.status_code, answer.json()["data"]) == (200, [])


@then(parsers.parse('it fails with {status:d} "{error}"'))
def it_fails(polling: Polling, status: int, error: str) -> None:
    assert polling.answer is not None
    problem_of(polling.answer, status, error)


def _poll(scene: Scene, after: str | None = None) -> httpx.Response:
    parameters = {} if after is None else {"cursor": after}
    return scene.platform.client.get("/api/facts", params=parameters)


def _polled(scene: Scene, polling: Polling) -> list[Json]:
    """Poll from the current cursor and advance it."""
    answer = _poll(scene, polling.after)
    assert answer.status_code == 200, answer.text
    page = answer.json()
    assert page["has_more"] is False
    polling.after = page["next_cursor"]
    return _of_holds(page["data"])


def _of_holds(facts: list[Json]) -> list[Json]:
    """The facts about holds, without those of the catalog setup."""
    return [fact for fact in facts if fact["event_type"].startswith("hold.")]
