"""`holdfast consume` and `holdfast dead-letters` as real processes on a real RabbitMQ."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from holdfast.ports.facts.log import Message
from tests.consuming.mail_server import MailServer
from tests.consuming.shop import Shop
from tests.consuming.test_notices import address_of, bought
from tests.consuming.test_orders import dead_letter_ids, receipts
from tests.support.auditing import assert_sound
from tests.support.brokers import BrokerUnderTest
from tests.support.patience import wait_until

DYING = Path(__file__).parent / "dying"
WAIT_SECONDS_MAX = 60.0


@dataclass
class Commands:
    """The program on one database, one broker and one mail server."""

    environment: dict[str, str]
    log: Path
    mail_server: MailServer
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def consume(self, die: str | None = None) -> subprocess.Popen[bytes]:
        """Start the consumers; with `die`, they run only to that point."""
        mortal = {} if die is None else {"DIE": die, "PYTHONPATH": str(DYING)}
        with self.log.open("ab") as output:
            process = subprocess.Popen(
                self._command("consume"),
                env=self.environment | mortal,
                stdout=output,
                stderr=output,
            )
        self._started.append(process)
        return process

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(*arguments),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_SECONDS_MAX,
        )

    def output_of(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kill(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()

    @staticmethod
    def _command(*arguments: str) -> list[str]:
        return [sys.executable, "-m", "holdfast.entrypoints.cli.main", *arguments]


@pytest.fixture
def commands(
    shop: Shop, rabbit_alone: BrokerUnderTest, mail_server: MailServer, tmp_path: Path
) -> Iterator[Commands]:
    environment = {
        **{name: value for name, value in os.environ.items() if "HOLDFAST" not in name},
        "DATABASE_URL": shop.world.url,
        "AMQP_URL": rabbit_alone.address.url,
        "HOLDFAST_NOTIFIER": "smtp",
        "HOLDFAST_SMTP_URL": mail_server.url,
    }
    commands = Commands(environment, tmp_path / "log", mail_server)
    yield commands
    commands.kill()


@pytest.mark.parametrize("die", ["before the order", "after the order"])
def test_a_consumer_killed_during_an_order_makes_one_order(
    shop: Shop, rabbit_alone: BrokerUnderTest, commands: Commands, die: str
) -> None:
    hold, last = shop.hold(), shop.hold()
    message = shop.confirmed(hold)
    rabbit_alone.address.send_to_us(message)
    killed = commands.consume(die)
    assert killed.wait(WAIT_SECONDS_MAX) == -signal.SIGKILL
    assert (shop.order_of(hold) is not None) == (die == "after the order")
    first_order = shop.order_of(hold)
    rabbit_alone.address.send_to_us(shop.confirmed(last))
    commands.consume()
    wait_until(lambda: shop.order_of(last) is not None, "both are done")
    assert len(shop.world.orders(shop.venue)) == 2
    assert first_order in {None, shop.order_of(hold)}
    assert message.id in receipts(shop)
    assert dead_letter_ids(rabbit_alone) == []
    assert_sound(shop.world.url)


@pytest.mark.parametrize(
    ("die", "mails"),
    [
        pytest.param("before the mail", 1, marks=pytest.mark.long),
        ("after the mail", 2),
        ("after the receipt", 1),
    ],
)
def test_a_consumer_killed_during_a_mail_sends_it_with_one_message_id(
    shop: Shop, rabbit_alone: BrokerUnderTest, commands: Commands, die: str, mails: int
) -> None:
    """Sending and recording cannot be atomic: killed between the two, the mail is sent again with
    the same Message-ID."""
    hold, last = shop.hold(), shop.hold()
    rabbit_alone.address.publish(bought(shop, hold))
    assert commands.consume(die).wait(WAIT_SECONDS_MAX) == -signal.SIGKILL
    rabbit_alone.address.publish(bought(shop, hold, last)[1:])
    commands.consume()
    wait_until(lambda: bool(commands.mail_server.to(address_of(last))), "both mails are sent")
    mails_sent = commands.mail_server.to(address_of(hold))
    assert len(mails_sent) == mails
    assert len({each.mail["Message-ID"] for each in mails_sent}) == 1


def test_a_signal_stops_it_gracefully(
    shop: Shop, rabbit_alone: BrokerUnderTest, commands: Commands
) -> None:
    hold = shop.hold()
    rabbit_alone.address.send_to_us(shop.confirmed(hold))
    process = commands.consume()
    wait_until(lambda: shop.order_of(hold) is not None, "it is at work")
    process.terminate()
    assert process.wait(WAIT_SECONDS_MAX) == 0
    assert commands.log.read_text().count('"event":"consumers.started"') == 1


def test_consumers_reconnect_after_a_broker_outage(
    shop: Shop, rabbit_alone: BrokerUnderTest, commands: Commands
) -> None:
    before, after = shop.hold(), shop.hold()
    commands.consume()
    rabbit_alone.address.send_to_us(shop.confirmed(before))
    wait_until(lambda: shop.order_of(before) is not None, "the first is done")
    rabbit_alone.server.kill()
    rabbit_alone.server.start()
    rabbit_alone.address.send_to_us(shop.confirmed(after))
    wait_until(lambda: shop.order_of(after) is not None, "the second is done")


class TestDeadLetters:
    def test_an_empty_list_is_shown(self, commands: Commands) -> None:
        assert commands.output_of("dead-letters") == "0 dead letter(s)\n"

    def test_dead_letters_are_shown_without_addresses_and_replayed(
        self, shop: Shop, rabbit_alone: BrokerUnderTest, commands: Commands
    ) -> None:
        hold = shop.hold()
        shop.world.let_pass(shop.venue, 601)
        late, poison = shop.confirmed(hold), _poison()
        for message in (late, poison):
            rabbit_alone.address.send_to_us(message)
        consumer = commands.consume()
        wait_until(lambda: len(dead_letter_ids(rabbit_alone)) == 2, "both are dead letters")
        shown = commands.output_of("dead-letters")
        assert f"id      {late.id}" in shown
        assert f"id      {poison.id}" in shown
        assert "queue   holdfast.orders" in shown
        assert "reason  hold_expired: " in shown
        assert "reason  malformed message: Expected `uuid`, got `int` - at `$.event_id`" in shown
        assert "b***@example.com" in shown
        assert "buyer@example.com" not in shown
        assert shown.endswith("2 dead letter(s)\n")
        # An operator solves the problem: here, by turning back the clock.
        consumer.terminate()
        consumer.wait(WAIT_SECONDS_MAX)
        shop.world.let_pass(shop.venue, -601)
        replayed = "1 dead letter(s) replayed"
        assert commands.output_of("dead-letters", "--replay", str(late.id)).startswith(replayed)
        commands.consume()
        wait_until(lambda: shop.order_of(hold) is not None, "the order is there")
        assert dead_letter_ids(rabbit_alone) == [poison.id]
        assert commands.output_of("dead-letters", "--replay").startswith(replayed)
        wait_until(lambda: dead_letter_ids(rabbit_alone) == [poison.id], "it is refused again")

    def test_replaying_an_unknown_message_fails(self, commands: Commands) -> None:
        done = commands.run("dead-letters", "--replay", str(uuid4()))
        assert (done.returncode, done.stdout) == (1, "")
        assert "no such dead letter" in done.stderr

    @pytest.mark.parametrize(
        ("arguments", "change", "code", "problem"),
        [
            (("dead-letters", "--replay", "one"), {}, 2, "UUID"),
            (("dead-letters",), {"AMQP_URL": ""}, 1, "AMQP_URL"),
            (("dead-letters",), {"AMQP_URL": "amqp://127.0.0.1:1/x"}, 1, "cannot be reached"),
            (("consume",), {"AMQP_URL": ""}, 1, "AMQP_URL"),
            (("consume",), {"HOLDFAST_SMTP_URL": ""}, 1, "HOLDFAST_SMTP_URL"),
            (("consume",), {"HOLDFAST_MAIL_FROM": "nobody"}, 1, "HOLDFAST_MAIL_FROM"),
        ],
    )
    def test_errors_are_reported_in_one_line(
        self,
        commands: Commands,
        arguments: tuple[str, ...],
        change: dict[str, str],
        code: int,
        problem: str,
    ) -> None:
        commands.environment |= change
        done = commands.run(*arguments)
        assert done.returncode == code
        assert problem in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr


def _poison() -> Message:
    body = b'{"event_id": 1, "customer": "buyer@example.com"}'
    return Message(uuid4(), "order.confirmed", body, {})
