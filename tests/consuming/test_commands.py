"""`holdfast consume` and `holdfast dead-letters`, as real processes on a real RabbitMQ."""

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
from tests.consuming.test_orders import put_aside, receipts
from tests.support.auditing import assert_sound
from tests.support.brokers import BrokerUnderTest
from tests.support.patience import wait_until

DYING = Path(__file__).parent / "dying"
WAIT_SECONDS_MAX = 60.0


@dataclass
class Commands:
    """The program, on one database, one broker and one mail server."""

    environment: dict[str, str]
    log: Path
    mail_server: MailServer
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def consume(self, die: str | None = None) -> subprocess.Popen[bytes]:
        """With `die`, only to that point of its work."""
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

    def said(self, *arguments: str) -> str:
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
def test_killed_over_an_order_there_is_one_effect(
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
    assert put_aside(rabbit_alone) == []
    assert_sound(shop.world.url)


@pytest.mark.parametrize(
    ("die", "mails"), [("before the mail", 1), ("after the mail", 2), ("after the receipt", 1)]
)
def test_killed_over_a_mail_it_is_told_and_never_as_two(
    shop: Shop, rabbit_alone: BrokerUnderTest, commands: Commands, die: str, mails: int
) -> None:
    """Nothing can be sent and written down in one step: killed just between the two, the mail
    comes again, and is seen to be the same."""
    hold, last = shop.hold(), shop.hold()
    rabbit_alone.address.publish(bought(shop, hold))
    assert commands.consume(die).wait(WAIT_SECONDS_MAX) == -signal.SIGKILL
    rabbit_alone.address.publish(bought(shop, hold, last)[1:])
    commands.consume()
    wait_until(lambda: bool(commands.mail_server.to(address_of(last))), "both are told")
    told = commands.mail_server.to(address_of(hold))
    assert len(told) == mails
    assert len({each.mail["Message-ID"] for each in told}) == 1


def test_a_signal_ends_it_in_order(
    shop: Shop, rabbit_alone: BrokerUnderTest, commands: Commands
) -> None:
    hold = shop.hold()
    rabbit_alone.address.send_to_us(shop.confirmed(hold))
    process = commands.consume()
    wait_until(lambda: shop.order_of(hold) is not None, "it is at work")
    process.terminate()
    assert process.wait(WAIT_SECONDS_MAX) == 0
    assert commands.log.read_text().count('"event":"consumers.started"') == 1


def test_a_broker_that_was_away_is_found_again(
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
    def test_none(self, commands: Commands) -> None:
        assert commands.said("dead-letters") == "0 dead letter(s)\n"

    def test_they_are_shown_without_addresses_and_sent_again(
        self, shop: Shop, rabbit_alone: BrokerUnderTest, commands: Commands
    ) -> None:
        hold = shop.hold()
        shop.world.let_pass(shop.venue, 601)
        late, poison = shop.confirmed(hold), _poison()
        for message in (late, poison):
            rabbit_alone.address.send_to_us(message)
        consumer = commands.consume()
        wait_until(lambda: len(put_aside(rabbit_alone)) == 2, "both are put aside")
        shown = commands.said("dead-letters")
        assert f"id      {late.id}" in shown
        assert f"id      {poison.id}" in shown
        assert "queue   holdfast.orders" in shown
        assert "reason  hold_expired: " in shown
        assert "reason  malformed message: Expected `uuid`, got `int` - at `$.event_id`" in shown
        assert "b***@example.com" in shown
        assert "buyer@example.com" not in shown
        assert shown.endswith("2 dead letter(s)\n")
        # An operator puts things right: here, by turning the clock back.
        consumer.terminate()
        consumer.wait(WAIT_SECONDS_MAX)
        shop.world.let_pass(shop.venue, -601)
        assert commands.said("dead-letters", "--replay", str(late.id)).startswith(
            "1 dead letter(s) replayed"
        )
        commands.consume()
        wait_until(lambda: shop.order_of(hold) is not None, "the order is there")
        assert put_aside(rabbit_alone) == [poison.id]
        assert commands.said("dead-letters", "--replay").startswith("1 dead letter(s) replayed")
        wait_until(lambda: put_aside(rabbit_alone) == [poison.id], "it is refused again")

    def test_one_that_is_not_there(self, commands: Commands) -> None:
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
    def test_what_is_wrong_is_said_in_one_line(
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
