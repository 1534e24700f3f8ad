"""Buyers are told of a confirmed order and of a hold about to end: once, and only what is true."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from email.headerregistry import Address
from uuid import uuid4

import pytest

from holdfast.adapters.mail.smtp import SmtpNotifier
from holdfast.adapters.postgres.catalog.store import PostgresCatalogue
from holdfast.adapters.postgres.facts.inbox import PostgresInbox
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.adapters.rabbitmq.connecting import connected
from holdfast.domain.group.outcomes import Waiting
from holdfast.domain.holds.hold import Hold
from holdfast.domain.values import Holder
from holdfast.ports.facts.deliveries import NOTIFICATIONS, TOO_OFTEN
from holdfast.ports.facts.log import Handled, Message
from holdfast.services.facts.notices import WARNED_SECONDS_MIN, NoticeSender
from tests.consuming.mail_server import MailServer, Received
from tests.consuming.shop import Shop, a_buyer, elsewhere
from tests.contract.venues import a_purchase
from tests.support.brokers import BrokerUnderTest
from tests.support.patience import wait_until

TTL_SECONDS, WARNING_SECONDS = 600, 60
COPIES = 3


def telling(shop: Shop, broker: BrokerUnderTest, mail: MailServer) -> AbstractContextManager[None]:
    return shop.consuming(broker.address, holdfast_notifier="smtp", holdfast_smtp_url=mail.url)


def address_of(hold: Hold) -> str:
    assert hold.holder.email is not None
    return hold.holder.email.value


def bought(shop: Shop, *holds: Hold) -> list[Message]:
    """The facts of as many orders."""
    for hold in holds:
        shop.do(shop.venue.convert(hold.id, purchase=a_purchase()))
    return shop.facts("order.confirmed", len(holds))


def warned(shop: Shop, *holds: Hold, seconds_left: int = WARNING_SECONDS - 1) -> list[Message]:
    shop.world.let_pass(shop.venue, TTL_SECONDS - seconds_left)
    shop.do(shop.venue.warn(*(hold.id for hold in holds)))
    return shop.facts("hold.expiring", len(holds))


def told_after(
    shop: Shop, broker: BrokerUnderTest, mail: MailServer, facts: list[Message]
) -> list[Received]:
    """All mails, once these facts and one more behind them were taken in."""
    last = shop.hold()
    broker.address.publish(facts)
    (*_, last_fact) = bought(shop, last)
    broker.address.publish([last_fact])
    with telling(shop, broker, mail):
        wait_until(lambda: bool(mail.to(address_of(last))), "the last one is told")
    return [each for each in mail.received if each.to != address_of(last)]


class TestConfirmation:
    def test_it_says_what_was_bought(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        hold = shop.hold_seats("Stalls A 1", "Stalls A 2")
        (told,) = told_after(shop, broker, mail_server, bought(shop, hold))
        order = shop.order_of(hold)
        assert order is not None
        assert told.to == address_of(hold)
        assert hold.reference in told.text
        assert str(order.id) in told.text
        for ticket in order.tickets:
            assert ticket.seat is not None
            assert f"row A, seat {ticket.seat.number}" in told.text
            assert ticket.code in told.text
        assert f"Total: {order.total.minor / 100:.2f} EUR" in told.text

    def test_a_buyer_without_an_address_is_told_nothing(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        hold = shop.hold(holder=Holder(user_id=f"user-{uuid4()}"))
        assert told_after(shop, broker, mail_server, bought(shop, hold)) == []

    def test_duplicated_and_shuffled_facts_are_told_once(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        holds = [shop.hold(1) for _ in range(8)]
        facts = bought(shop, *holds) * COPIES
        random.Random(7).shuffle(facts)
        broker.address.publish(facts)
        everybody = {address_of(hold) for hold in holds}
        with telling(shop, broker, mail_server), telling(shop, broker, mail_server):
            wait_until(lambda: {each.to for each in mail_server.received} == everybody, "all told")
        told_after(shop, broker, mail_server, [])
        times = Counter(each.to for each in mail_server.received)
        assert {address: times[address] for address in everybody} == dict.fromkeys(everybody, 1)


class TestWarning:
    def test_it_says_when_the_hold_ends(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        hold = shop.hold_seats("Stalls A 1")
        facts = warned(shop, hold)
        (told,) = told_after(shop, broker, mail_server, facts)
        ends_at = shop.world.hold(shop.venue, hold.id).expires_at
        assert told.to == address_of(hold)
        assert f"by {ends_at:%d %B %Y, %H:%M:%S} UTC" in told.text
        assert re.search(r"Please pay within \d+ seconds?", told.text)
        assert hold.reference in told.text
        assert "row A, seat 1" in told.text

    @pytest.mark.parametrize("meanwhile", ["extended", "released", "paid", "lapsed"])
    def test_whoever_need_not_hurry_is_not_told_to(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer, meanwhile: str
    ) -> None:
        hold = shop.hold()
        facts = warned(shop, hold)
        match meanwhile:
            case "extended":
                shop.do(shop.venue.extend(hold.id, 300, holder=None))
            case "released":
                shop.do(shop.venue.release(hold.id))
            case "paid":
                shop.do(shop.venue.convert(hold.id, purchase=a_purchase()))
            case "lapsed":
                shop.world.let_pass(shop.venue, WARNING_SECONDS)
        assert told_after(shop, broker, mail_server, facts) == []

    def test_whoever_cannot_make_it_any_more_is_not_told_to_hurry(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        facts = warned(shop, shop.hold(), seconds_left=WARNED_SECONDS_MIN - 1)
        assert told_after(shop, broker, mail_server, facts) == []


class TestPromotion:
    def promoted(self, shop: Shop) -> tuple[Hold, list[Message]]:
        """Somebody who waited, and the fact that the places are there."""
        shop.venue = shop.build(waitlist=True)
        held = shop.hold(1_000)
        outcome = shop.do(shop.venue.place(("standing", 2), holder=a_buyer()))
        assert isinstance(outcome, Waiting), outcome
        shop.do(shop.venue.release(held.id))
        return outcome.hold, shop.facts("hold.promoted")

    def test_it_says_until_when_the_places_are_kept(
        self, shop: Shop, rabbit_alone: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        hold, facts = self.promoted(shop)
        (told,) = told_after(shop, rabbit_alone, mail_server, facts)
        ends_at = shop.world.hold(shop.venue, hold.id).expires_at
        assert told.to == address_of(hold)
        assert f"by {ends_at:%d %B %Y, %H:%M:%S} UTC" in told.text
        assert hold.reference in told.text

    @pytest.mark.parametrize("meanwhile", ["released", "paid", "lapsed"])
    def test_whoever_has_them_no_more_is_told_nothing(
        self, shop: Shop, mail_server: MailServer, meanwhile: str
    ) -> None:
        hold, (fact,) = self.promoted(shop)
        match meanwhile:
            case "released":
                shop.do(shop.venue.release(hold.id))
            case "paid":
                shop.do(shop.venue.convert(hold.id, purchase=a_purchase()))
            case "lapsed":
                shop.world.let_pass(shop.venue, TTL_SECONDS + 1)
        with sender_on(shop.world.url, mail_server) as sender:
            assert sender.handle(fact) is Handled.DONE
        assert mail_server.received == []


class TestTrouble:
    def test_a_mail_server_that_was_away_gets_every_mail_once(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        holds = [shop.hold(1) for _ in range(5)]
        first, *others = bought(shop, *holds)
        mail_server.stop()
        with telling(shop, broker, mail_server):
            broker.address.publish([first])
            broker.address.publish(others)
            mail_server.start()
            wait_until(lambda: len(mail_server.received) >= len(holds), "all are told")
        assert sorted(each.to for each in mail_server.received) == sorted(map(address_of, holds))

    def test_a_broker_that_was_away_is_found_again(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        before, after = shop.hold(1), shop.hold(1)
        facts = bought(shop, before, after)
        with telling(shop, broker, mail_server):
            broker.address.publish(facts[:1])
            wait_until(lambda: len(mail_server.received) == 1, "the first is told")
            broker.server.kill()
            broker.server.start()
            broker.address.publish(facts[1:])
            wait_until(lambda: len(mail_server.received) == len(facts), "the second is told")
        assert {each.to for each in mail_server.received} == {address_of(before), address_of(after)}

    def test_an_address_that_nobody_has_stops_nobody_else(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        nobody, somebody = shop.hold(holder=a_buyer()), shop.hold()
        mail_server.refusals[address_of(nobody)] = 550
        (fact, other) = bought(shop, nobody, somebody)
        told = told_after(shop, broker, mail_server, [fact, other])
        assert [each.to for each in told] == [address_of(somebody)]
        (letter,) = broker.address.dead_letters().peek(10)
        assert letter.message.id == fact.id
        assert letter.reason == "notice refused: the mail server said 550"

    @pytest.mark.parametrize(
        ("when", "reason"),
        [
            ("MAIL", "notice refused: the mail server said 552"),
            ("RCPT", TOO_OFTEN),
            ("DATA", TOO_OFTEN),
        ],
    )
    @pytest.mark.usefixtures("quick")
    def test_a_mail_that_is_not_taken_stops_nobody_else(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer, when: str, reason: str
    ) -> None:
        nobody, somebody = shop.hold(100), shop.hold(1)
        match when:
            case "MAIL":
                mail_server.size_max = 2_000
            case "RCPT":
                mail_server.refusals[address_of(nobody)] = 450
            case "DATA":
                mail_server.data_refusals[address_of(nobody)] = 451
        (fact, other) = bought(shop, nobody, somebody)
        with telling(shop, broker, mail_server):
            broker.address.publish([fact, other])
            wait_until(lambda: bool(mail_server.to(address_of(somebody))), "the other is told")
            dead_letters = broker.address.dead_letters()
            wait_until(lambda: len(dead_letters.peek(10)) == 1, "it is put aside")
        (letter,) = dead_letters.peek(10)
        assert (letter.message.id, letter.reason) == (fact.id, reason)
        assert mail_server.to(address_of(nobody)) == []

    def test_what_is_no_fact_of_ours_is_put_aside(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        nobodys = Message(uuid4(), "order.confirmed", b'{"event_type": "order.confirmed"}', {})
        assert told_after(shop, broker, mail_server, [nobodys]) == []
        (letter,) = broker.address.dead_letters().peek(10)
        assert letter.message.id == nobodys.id
        assert letter.reason.startswith("malformed message: ")


@pytest.mark.parametrize("kind", ["order.confirmed", "hold.expiring"])
def test_without_a_database_a_notice_waits(shop: Shop, mail_server: MailServer, kind: str) -> None:
    hold = shop.hold()
    (fact,) = bought(shop, hold) if kind == "order.confirmed" else warned(shop, hold)
    with sender_on(elsewhere(shop.world.url), mail_server) as sender:
        assert sender.handle(fact) is Handled.AGAIN
    with sender_on(shop.world.url, mail_server) as sender:
        assert sender.handle(fact) is Handled.DONE
    assert [each.to for each in mail_server.received] == [address_of(hold)]


@contextmanager
def sender_on(url: str, mail: MailServer) -> Iterator[NoticeSender]:
    database = Database(url)
    database.open()
    try:
        yield NoticeSender(
            PostgresInbox(database),
            SmtpNotifier(mail.url, Address(addr_spec="tickets@shop.example")),
            PostgresHolds(database),
            PostgresOrders(database),
            PostgresCatalogue(database),
        )
    finally:
        database.close()


def test_where_no_notices_are_wanted_the_queue_is_emptied_all_the_same(
    shop: Shop, rabbit_alone: BrokerUnderTest, mail_server: MailServer
) -> None:
    hold = shop.hold()
    rabbit_alone.address.publish(bought(shop, hold))

    def waiting() -> int:
        with connected(rabbit_alone.address.url) as connection:
            queue = connection.channel().queue_declare(NOTIFICATIONS.queue, passive=True)
            return int(queue.message_count)

    wait_until(lambda: waiting() == 1, "the fact is in the queue")
    with shop.consuming(rabbit_alone.address):
        wait_until(lambda: waiting() == 0, "the queue is empty")
    assert waiting() == 0
    assert mail_server.received == []
