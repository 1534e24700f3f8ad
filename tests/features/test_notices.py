"""Customer notices, from payment to e-mail, on a server with RabbitMQ and a mail server."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from holdfast.ports.facts.log import PARTITIONS, Message
from tests.consuming.mail_server import MailServer, Received
from tests.features.conftest import TTL_SECONDS
from tests.features.scene import Scene, scene_on
from tests.support.brokers import BrokerAddress
from tests.support.databases import DatabaseFactory
from tests.support.patience import wait_until
from tests.support.rabbit import RabbitBroker
from tests.support.servers import RunningServer

scenarios("notices.feature")


@dataclass
class Post:
    """The broker, the mail server, and the message and mails of the scenario."""

    broker: BrokerAddress
    mails: MailServer
    email: str = ""
    message: Message | None = None
    got: list[Received] = field(default_factory=list)

    def publish(self, scene: Scene, hold_id: str) -> Message:
        """Publish the message that the service sends after taking a payment."""
        event_id = uuid4()
        body = {
            "event_id": str(event_id),
            "event_type": "order.confirmed",
            "occurred_at": "2026-11-16T12:00:00Z",
            "organization_id": scene.platform.organization_id,
            "payload": {"hold_ids": [hold_id], "payment_reference": f"pay-{event_id}"},
        }
        message = Message(event_id, "order.confirmed", json.dumps(body).encode(), {})
        self.broker.send_to_us(message)
        return message

    def wait_for_mail(self) -> Received:
        wait_until(lambda: bool(self.mails.to(self.email)), "the mail arrives")
        self.got = self.mails.to(self.email)
        return self.got[0]

    def settle(self, scene: Scene) -> None:
        """Wait until all facts have left and a message sent after everything else has arrived."""
        waiting = "SELECT waiting FROM holdfast_relay_lag(%s, 100)"
        wait_until(lambda: scene.owner.rows(waiting, PARTITIONS) == [(0,)], "all facts have left")
        email = f"last-{uuid4().hex}@example.com"
        answer = scene.platform.place(scene.sale, 1, customer_email=email)
        self.publish(scene, answer.json()["hold_id"])
        wait_until(lambda: bool(self.mails.to(email)), "the last mail arrives")


@pytest.fixture(scope="module")
def mails() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture(scope="module")
def broker(rabbit: RabbitBroker) -> BrokerAddress:
    return BrokerAddress("rabbitmq", rabbit.new_vhost())


@pytest.fixture(scope="module")
def notifying_server(
    databases: DatabaseFactory,
    broker: BrokerAddress,
    mails: MailServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RunningServer]:
    environment = {
        "AMQP_URL": broker.url,
        "HOLDFAST_NOTIFIER": "smtp",
        "HOLDFAST_SMTP_URL": mails.url,
    }
    log = tmp_path_factory.mktemp("notifying") / "log"
    with RunningServer(databases.fresh(), log, environment) as running:
        yield running


@pytest.fixture
def scene(notifying_server: RunningServer) -> Scene:
    return scene_on(notifying_server)


@pytest.fixture
def post(broker: BrokerAddress, mails: MailServer) -> Post:
    return Post(broker, mails)


@given('session "Friday" of event "Concert" has available tickets')
def on_sale(scene: Scene) -> None:
    scene.put_on_sale()


@given(parsers.parse('a hold for {quantity:d} tickets for customer "{email}"'))
def hold_for_customer(scene: Scene, post: Post, quantity: int, email: str) -> None:
    # One mailbox per scenario, because they share the mail server.
    name, _, domain = email.partition("@")
    post.email = f"{name}+{uuid4().hex[:8]}@{domain}"
    scene.place(quantity, customer_email=post.email)


@given(parsers.parse('a hold for {quantity:d} tickets for user "{user_id}"'))
def hold_for_user(scene: Scene, quantity: int, user_id: str) -> None:
    body: dict[str, Any] = scene.body(quantity, user_id=user_id)
    del body["customer_email"]
    scene.send("/api/holds", body)


@given("the hold expired 1 minute ago")
def expired(scene: Scene) -> None:
    scene.owner.let_pass(scene.platform.organization_id, TTL_SECONDS + 60)


@when("the order service publishes order.confirmed for the hold")
def order_confirmed(scene: Scene, post: Post) -> None:
    post.message = post.publish(scene, scene.hold["hold_id"])
    post.settle(scene)


@when("the order service publishes the same message again")
def the_same_message(scene: Scene, post: Post) -> None:
    assert post.message is not None
    post.broker.send_to_us(post.message)
    post.settle(scene)


@when("the hold has less than a minute left")
def about_to_expire(scene: Scene) -> None:
    scene.owner.let_pass(scene.platform.organization_id, TTL_SECONDS - 50)


@then(parsers.parse('the customer gets an e-mail "{subject}"'))
def gets_a_mail(post: Post, subject: str) -> None:
    assert post.wait_for_mail().mail["Subject"] == subject


@then(parsers.parse('the customer gets an e-mail that ends with "{subject}"'))
def gets_a_warning(post: Post, subject: str) -> None:
    said = str(post.wait_for_mail().mail["Subject"])
    assert re.fullmatch(rf"\d+ seconds? {subject}", said)


@then(parsers.parse('it names the booking reference, "{occasion}" and a total of {total}'))
def it_names(scene: Scene, post: Post, occasion: str, total: str) -> None:
    (mail,) = post.got
    assert f"Booking reference: {scene.hold['reference']}" in mail.text
    assert occasion in mail.text
    assert f"Total: {total}" in mail.text


@then(parsers.parse("it has {count:d} different codes"))
def it_has_codes(post: Post, count: int) -> None:
    codes = re.findall(r"code ([0-9A-Z]{26})$", post.got[0].text, re.MULTILINE)
    assert len(codes) == len(set(codes)) == count


@then("there is one order of the hold")
def one_order(scene: Scene) -> None:
    query = "SELECT FROM purchase_order WHERE hold_ids = ARRAY[%s]::uuid[]"
    assert len(scene.owner.rows(query, scene.hold["hold_id"])) == 1


@then("the customer gets one e-mail")
def one_mail(post: Post) -> None:
    assert len(post.mails.to(post.email)) == 1


@then("the customer gets no e-mail")
def no_mail(scene: Scene, post: Post) -> None:
    post.settle(scene)
    others = re.compile(r"(last-|user\+)")
    assert post.mails.to(post.email) == []
    assert [each.to for each in post.mails.received if not others.match(each.to)] == []


@then("the message becomes a dead letter")
def becomes_a_dead_letter(post: Post) -> None:
    assert post.message is not None
    (letter,) = post.broker.dead_letters().peek(10)
    assert letter.message.id == post.message.id
