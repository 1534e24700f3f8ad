"""Customer notices, from payment to e-mail, on a server with RabbitMQ and a mail server."""

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.adapters.postgres.mails.requests import PostgresMailRequests
from holdfast.adapters.postgres.mails.templates import PostgresMailTemplates
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.bootstrap.privacy.addresses import addresses_of
from holdfast.bootstrap.settings import Settings
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.mails.kinds import MailKind
from holdfast.domain.mails.templates import MailTemplate
from holdfast.ports.facts.log import PARTITIONS, Message
from holdfast.services.mails.resend import MailDesk
from holdfast.services.mails.templates import MailTextEditor
from tests.consuming.mail_server import MailServer, Received
from tests.features.conftest import TTL_SECONDS
from tests.features.scene import Scene, scene_on
from tests.support.brokers import BrokerAddress
from tests.support.databases import DatabaseFactory
from tests.support.patience import wait_until
from tests.support.rabbit import RabbitBroker
from tests.support.servers import INSTALLATION_SECRET, RunningServer

scenarios("notices.feature")

WARNING_SECONDS = 200
ORIGIN = Origin("operator:desk", "request-1", reason="In a scenario")


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


@contextmanager
def opened(scene: Scene) -> Iterator[Database]:
    with closing(Database(scene.owner.database_url)) as database:
        database.open()
        yield database


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
    # The default is too late for a mail.
    scene.put_on_sale(hold_policy={"warning_seconds": WARNING_SECONDS})


@given(parsers.parse('event "Concert" takes place at "{venue}" in "{time_zone}"'))
def takes_place(scene: Scene, venue: str, time_zone: str) -> None:
    place = {"venue": venue, "time_zone": time_zone}
    changed = scene.platform.client.patch(f"/api/events/{scene.sale.event_id}", json=place)
    assert changed.json() | place == changed.json()


@given(parsers.parse('session "Friday" starts at "{moment}"'))
def starts_at(scene: Scene, moment: str) -> None:
    path = f"/api/sessions/{scene.sale.session_id}"
    assert scene.platform.client.patch(path, json={"starts_at": moment}).status_code == 200


@given(
    parsers.parse('the organization writes confirmations "{subject}" with the text "{body}"'),
)
def own_text(scene: Scene, subject: str, body: str) -> None:
    own = OrganizationId(UUID(scene.platform.organization_id))
    with opened(scene) as database:
        editor = MailTextEditor(PostgresMailTemplates(database), own, ORIGIN)
        assert editor.save(MailKind.CONFIRMATION, MailTemplate(subject, body)) is True


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


@when(parsers.parse('the order is cancelled because "{reason}"'))
def order_cancelled(scene: Scene, post: Post, reason: str) -> None:
    post.wait_for_mail()
    order_id = scene.read(scene.hold["hold_id"]).json()["order_id"]
    scene.send(f"/api/orders/{order_id}/cancel", {"reason": reason})
    assert scene.answer.status_code == 200, scene.answer.text
    post.settle(scene)


@when(parsers.parse("the hold has {minutes:d} minutes left"))
def about_to_expire(scene: Scene, minutes: int) -> None:
    scene.owner.let_pass(scene.platform.organization_id, TTL_SECONDS - 60 * minutes)


@when("staff send the customer the e-mail again")
def sent_again(scene: Scene, post: Post) -> None:
    post.wait_for_mail()
    own, hold_id = scene.platform.organization_id, scene.hold["hold_id"]
    addresses = addresses_of(Settings(holdfast_secret_key=INSTALLATION_SECRET))
    with opened(scene) as database:
        desk = MailDesk(
            PostgresHolds(database, addresses),
            PostgresOrders(database, addresses),
            PostgresMailRequests(database),
        )
        named = (OrganizationId(UUID(own)), HoldId(UUID(hold_id)))
        assert desk.resend(*named, MailKind.CONFIRMATION, ORIGIN) is None
    post.settle(scene)


@then(parsers.parse('the customer gets an e-mail "{subject}"'))
def gets_a_mail(post: Post, subject: str) -> None:
    assert post.wait_for_mail().mail["Subject"] == subject


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


@then(parsers.parse('it says "{text}"'))
def it_says(post: Post, text: str) -> None:
    assert text in post.got[0].text


@then(parsers.parse('it does not say "{text}"'))
def it_does_not_say(post: Post, text: str) -> None:
    assert text not in post.got[0].text


@then("it has no codes")
def it_has_no_codes(scene: Scene, post: Post) -> None:
    order_id = scene.read(scene.hold["hold_id"]).json()["order_id"]
    order = scene.platform.client.get(f"/api/orders/{order_id}").json()
    codes = [ticket["code"] for ticket in order["tickets"]]
    assert len(codes) == 2
    assert not any(code in post.got[0].text for code in codes)


@then(parsers.parse('the customer gets another e-mail "{subject}"'))
def gets_another_mail(post: Post, subject: str) -> None:
    _, *others = post.mails.to(post.email)
    assert [each.mail["Subject"] for each in others] == [subject]
    post.got = others


@then("the customer gets two e-mails with the same codes")
def the_same_codes(post: Post) -> None:
    first, second = (
        re.findall(r"code ([0-9A-Z]{26})$", each.text, re.MULTILINE)
        for each in post.mails.to(post.email)
    )
    assert first == second
    assert len(set(first)) == 2


@then("the hold is announced as about to expire")
def announced(scene: Scene) -> None:
    query = "SELECT FROM outbox WHERE type = 'hold.expiring' AND hold_id = %s"
    wait_until(
        lambda: len(scene.owner.rows(query, scene.hold["hold_id"])) == 1, "the warning is published"
    )


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
