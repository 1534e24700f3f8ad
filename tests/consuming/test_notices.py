"""Buyers are notified of a confirmed or cancelled order, a hold about to expire, and their place on
the waitlist: once, and only if still true."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from email.headerregistry import Address
from threading import Event
from uuid import uuid4

import pytest

from holdfast.adapters.mail.smtp import SmtpNotifier
from holdfast.adapters.postgres.access.settings import PostgresOrganizationSettings
from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.facts.inbox import PostgresInbox
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.adapters.postgres.mails.templates import PostgresMailTemplates
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.adapters.rabbitmq.connections import connected
from holdfast.bootstrap import consumers
from holdfast.domain.catalog.changes import SaleChange
from holdfast.domain.catalog.model import EventStatus, SessionStatus
from holdfast.domain.group.outcomes import Waiting
from holdfast.domain.holds.hold import Hold
from holdfast.domain.mails.resend import PAYABLE_SECONDS_MIN
from holdfast.domain.values import Holder
from holdfast.ports.facts.deliveries import NOTIFICATIONS, TOO_OFTEN
from holdfast.ports.facts.log import Handled, Message
from holdfast.ports.facts.notices import Notice
from holdfast.services.catalog.changes import CatalogEditor
from holdfast.services.facts.notices import NoticeSender
from tests.consuming.mail_server import MailServer, Received
from tests.consuming.shop import WARNING_SECONDS, Shop, a_buyer, elsewhere
from tests.contract.venues import OPERATOR, a_purchase
from tests.contract.waitlist.test_explanations import close
from tests.support.brokers import BrokerUnderTest
from tests.support.patience import PATIENCE_SECONDS, wait_until

TTL_SECONDS = 600
COPIES = 3


def notifying(
    shop: Shop, broker: BrokerUnderTest, mail: MailServer
) -> AbstractContextManager[None]:
    return shop.consuming(broker.address, holdfast_notifier="smtp", holdfast_smtp_url=mail.url)


def address_of(hold: Hold) -> str:
    assert hold.holder.email is not None
    return hold.holder.email.value


def bought(shop: Shop, *holds: Hold) -> list[Message]:
    """Convert each hold; the facts of the orders."""
    for hold in holds:
        shop.do(shop.venue.convert(hold.id, purchase=a_purchase()))
    return shop.facts("order.confirmed", len(holds))


def warned(shop: Shop, *holds: Hold, seconds_left: int = WARNING_SECONDS - 1) -> list[Message]:
    shop.world.let_pass(shop.venue, TTL_SECONDS - seconds_left)
    shop.do(shop.venue.warn(*(hold.id for hold in holds)))
    return shop.facts("hold.expiring", len(holds))


def mails_after(
    shop: Shop, broker: BrokerUnderTest, mail: MailServer, facts: list[Message]
) -> list[Received]:
    """All mails sent once these facts, and a last one after them in each queue, were consumed."""
    last = [shop.hold(), shop.hold()]
    broker.address.publish(facts)
    (*_, of_notifications) = bought(shop, last[0])
    shop.do(shop.venue.release_as_operator(last[1].id))
    (*_, of_endings) = shop.facts("hold.cancelled")
    broker.address.publish([of_notifications, of_endings])
    addresses = set(map(address_of, last))
    with notifying(shop, broker, mail):
        wait_until(
            lambda: addresses <= {each.to for each in mail.received}, "the last mails are sent"
        )
    return [each for each in mail.received if each.to not in addresses]


class TestConfirmation:
    def test_it_lists_the_order(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        hold = shop.hold_seats("Stalls A 1", "Stalls A 2")
        (mail,) = mails_after(shop, broker, mail_server, bought(shop, hold))
        order = shop.order_of(hold)
        assert order is not None
        assert mail.to == address_of(hold)
        assert hold.reference in mail.text
        assert str(order.id) in mail.text
        for ticket in order.tickets:
            assert ticket.seat is not None
            assert f"row A, seat {ticket.seat.number}" in mail.text
            assert ticket.code in mail.text
        assert f"Total: {order.total.minor / 100:.2f} EUR" in mail.text

    def test_a_buyer_without_an_email_gets_no_mail(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        hold = shop.hold(holder=Holder(user_id=f"user-{uuid4()}"))
        assert mails_after(shop, broker, mail_server, bought(shop, hold)) == []

    def test_duplicated_and_shuffled_facts_send_one_mail_each(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        holds = [shop.hold(1) for _ in range(8)]
        facts = bought(shop, *holds) * COPIES
        random.Random(7).shuffle(facts)
        broker.address.publish(facts)
        everybody = {address_of(hold) for hold in holds}
        with notifying(shop, broker, mail_server), notifying(shop, broker, mail_server):
            wait_until(
                lambda: {each.to for each in mail_server.received} == everybody, "all are notified"
            )
        mails_after(shop, broker, mail_server, [])
        times = Counter(each.to for each in mail_server.received)
        assert {address: times[address] for address in everybody} == dict.fromkeys(everybody, 1)


class TestCancellation:
    def test_each_mail_names_the_tickets_cancelled_with_it(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        """Though both are cancelled by the time that the first mail is written."""
        hold = shop.hold_seats("Stalls A 1", "Stalls A 2")
        bought(shop, hold)
        order = shop.order_of(hold)
        assert order is not None
        first, second = order.tickets
        shop.do(shop.venue.cancel(order.id, first.id))
        shop.do(shop.venue.cancel(order.id))
        facts = shop.facts("order.cancelled", 2)
        mails = mails_after(shop, broker, mail_server, facts * COPIES)
        assert [mail.to for mail in mails] == [address_of(hold)] * 2
        # A consumer of a broker with several queues may get the second fact first.
        mails.sort(key=lambda mail: "seat 2," in mail.text)
        for mail, named, other in zip(mails, (first, second), (second, first), strict=True):
            assert named.seat is not None
            assert other.seat is not None
            assert mail.mail["Subject"].startswith("Cancelled: 1 ticket for ")
            assert hold.reference in mail.text
            assert f"row A, seat {named.seat.number}, 45.00 EUR" in mail.text
            for hidden in (f"seat {other.seat.number},", first.code, second.code, "Ann fell ill"):
                assert hidden not in mail.text


class TestWarning:
    def test_it_says_when_the_hold_expires(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        hold = shop.hold_seats("Stalls A 1")
        facts = warned(shop, hold)
        (mail,) = mails_after(shop, broker, mail_server, facts)
        ends_at = shop.world.hold(shop.venue, hold.id).expires_at
        assert mail.to == address_of(hold)
        assert f"{ends_at.day} {ends_at:%B %Y, %H:%M:%S} UTC" in mail.text
        assert re.search(r"Please pay within \d minutes", mail.text)
        assert hold.reference in mail.text
        assert "row A, seat 1" in mail.text

    @pytest.mark.parametrize("meanwhile", ["extended", "released", "paid", "lapsed"])
    def test_an_outdated_warning_is_not_sent(
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
        assert mails_after(shop, broker, mail_server, facts) == []

    def test_a_warning_too_late_to_help_is_not_sent(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        facts = warned(shop, shop.hold(), seconds_left=PAYABLE_SECONDS_MIN - 1)
        assert mails_after(shop, broker, mail_server, facts) == []

    def test_a_warning_that_waited_for_the_mail_server_is_not_sent_too_late(
        self, shop: Shop, mail_server: MailServer
    ) -> None:
        """The time that counts is that of sending, not that of the fact."""
        (fact,) = warned(shop, shop.hold(), seconds_left=PAYABLE_SECONDS_MIN + 60)
        mail_server.stop()
        with sender_on(shop.world.url, mail_server) as sender:
            assert sender.handle(fact) is Handled.AGAIN
            mail_server.start()
            shop.world.let_pass(shop.venue, 90)
            assert sender.handle(fact) is Handled.DONE
        assert mail_server.received == []


class TestRemoval:
    def test_a_party_is_told_that_an_operator_removed_it(
        self, shop: Shop, rabbit_alone: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        """Those who leave by themselves get no such mail, and those whose places are taken back get
        another one."""
        shop.venue = shop.build(waitlist=True)
        held = shop.hold(1_000)
        removed, left = (
            shop.do(shop.venue.place(("standing", 2), holder=a_buyer())) for _ in range(2)
        )
        assert isinstance(removed, Waiting), removed
        assert isinstance(left, Waiting), left
        shop.do(shop.venue.release(left.hold.id))
        for hold in (removed.hold, held):
            shop.do(replace(shop.venue.release(hold.id), is_operator=True))
        facts = shop.facts("hold.cancelled")
        mails = {mail.to: mail for mail in mails_after(shop, rabbit_alone, mail_server, facts)}
        assert mails.keys() == {address_of(removed.hold), address_of(held)}
        mail = mails[address_of(removed.hold)]
        assert "You are no longer on the waitlist" in mail.text
        assert removed.hold.reference in mail.text
        assert "We are no longer holding" in mails[address_of(held)].text

    @pytest.mark.parametrize("cancelled", ["event", "session"])
    def test_everybody_is_told_that_the_event_or_session_is_cancelled(
        self, shop: Shop, mail_server: MailServer, cancelled: str
    ) -> None:
        parties = on_a_waitlist(shop)
        catalog = PostgresCatalog(shop.room.database)
        own = shop.venue.organization_id
        box_office = CatalogEditor(catalog, shop.room.admission, own, OPERATOR, None, lambda _: b"")
        if cancelled == "event":
            session = catalog.session(own, shop.venue.session_id)
            assert session is not None
            sale = SaleChange(EventStatus.CANCELLED)
            box_office.change_event(session.event_id, None, None, sale)
            said = "The event is cancelled.\nYou are no longer on the waitlist."
        else:
            status = SessionStatus.CANCELLED
            box_office.change_session(shop.venue.session_id, None, None, status=status)
            said = "This session is cancelled.\nYou are no longer on the waitlist."
        facts = shop.facts("hold.cancelled", len(parties))
        with sender_on(shop.world.url, mail_server) as sender:
            assert [sender.handle(fact) for fact in facts * 2] == [Handled.DONE] * 2 * len(facts)
        assert [mail.to for mail in mail_server.received] == list(map(address_of, parties))
        for mail in mail_server.received:
            assert mail.text.startswith(said)

    @pytest.mark.parametrize("by", ["archived", "sale_ended", "session_started"])
    def test_nobody_is_told_that_a_sale_is_over(
        self, shop: Shop, mail_server: MailServer, by: str
    ) -> None:
        parties = on_a_waitlist(shop)
        close(shop.world, shop.venue, by)
        shop.do(shop.venue.promote())
        facts = shop.facts("hold.cancelled", len(parties))
        with sender_on(shop.world.url, mail_server) as sender:
            assert [sender.handle(fact) for fact in facts] == [Handled.DONE] * len(facts)
        assert mail_server.received == []


def on_a_waitlist(shop: Shop) -> list[Hold]:
    """Two parties of a sold-out session."""
    shop.venue = shop.build(waitlist=True)
    shop.hold(1_000)
    outcomes = [shop.do(shop.venue.place(("standing", 2), holder=a_buyer())) for _ in range(2)]
    return [outcome.hold for outcome in outcomes if isinstance(outcome, Waiting)]


class TestPromotion:
    def promoted(self, shop: Shop) -> tuple[Hold, list[Message]]:
        """A promoted hold and its fact."""
        shop.venue = shop.build(waitlist=True)
        held = shop.hold(1_000)
        outcome = shop.do(shop.venue.place(("standing", 2), holder=a_buyer()))
        assert isinstance(outcome, Waiting), outcome
        shop.do(shop.venue.release(held.id))
        return outcome.hold, shop.facts("hold.promoted")

    def test_it_says_when_the_promotion_expires(
        self, shop: Shop, rabbit_alone: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        hold, facts = self.promoted(shop)
        (mail,) = mails_after(shop, rabbit_alone, mail_server, facts)
        ends_at = shop.world.hold(shop.venue, hold.id).expires_at
        assert mail.to == address_of(hold)
        assert f"{ends_at.day} {ends_at:%B %Y, %H:%M:%S} UTC" in mail.text
        assert hold.reference in mail.text

    @pytest.mark.parametrize("meanwhile", ["released", "paid", "lapsed"])
    def test_an_outdated_promotion_is_not_sent(
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
    def test_notices_about_what_has_ended_keep_no_urgent_one_waiting(
        self, shop: Shop, broker: BrokerUnderTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A cancelled event makes thousands of them."""
        ended, bought_now = shop.hold(1), shop.hold(1)
        sent: list[str] = []
        is_told = Event()

        class MailServerAtItsLimit:
            def send(self, notice: Notice) -> None:
                if notice.to == ended.holder.email:
                    assert is_told.wait(PATIENCE_SECONDS), "the urgent notice waits behind it"
                sent.append(notice.to.value)
                is_told.set()

        monkeypatch.setattr(consumers, "_notifier", lambda _: MailServerAtItsLimit())
        shop.do(shop.venue.release_as_operator(ended.id))
        broker.address.publish(shop.facts("hold.cancelled"))
        broker.address.publish(bought(shop, bought_now))
        with notifying(shop, broker, MailServer()):
            wait_until(lambda: len(sent) == 2, "both are notified")
        assert sent == [address_of(bought_now), address_of(ended)]

    def test_every_mail_is_sent_once_after_a_mail_server_outage(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        holds = [shop.hold(1) for _ in range(5)]
        first, *others = bought(shop, *holds)
        mail_server.stop()
        with notifying(shop, broker, mail_server):
            broker.address.publish([first])
            broker.address.publish(others)
            mail_server.start()
            wait_until(lambda: len(mail_server.received) >= len(holds), "all are notified")
        assert sorted(each.to for each in mail_server.received) == sorted(map(address_of, holds))

    def test_consumers_reconnect_after_a_broker_outage(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        before, after = shop.hold(1), shop.hold(1)
        facts = bought(shop, before, after)
        with notifying(shop, broker, mail_server):
            broker.address.publish(facts[:1])
            wait_until(lambda: len(mail_server.received) == 1, "the first mail is sent")
            broker.server.kill()
            broker.server.start()
            broker.address.publish(facts[1:])
            wait_until(lambda: len(mail_server.received) == len(facts), "the second mail is sent")
        assert {each.to for each in mail_server.received} == {address_of(before), address_of(after)}

    def test_an_unknown_address_stops_no_other_mail(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        nobody, somebody = shop.hold(holder=a_buyer()), shop.hold()
        mail_server.refusals[address_of(nobody)] = 550
        (fact, other) = bought(shop, nobody, somebody)
        mail = mails_after(shop, broker, mail_server, [fact, other])
        assert [each.to for each in mail] == [address_of(somebody)]
        (letter,) = broker.address.dead_letters().peek(10)
        assert letter.message.id == fact.id
        assert letter.reason == "notice refused: the mail server answered 550"

    @pytest.mark.parametrize(
        ("when", "reason"),
        [
            ("MAIL", "notice refused: the mail server answered 552"),
            ("RCPT", TOO_OFTEN),
            ("DATA", TOO_OFTEN),
        ],
    )
    @pytest.mark.usefixtures("quick")
    def test_a_rejected_mail_stops_no_other_mail(
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
        with notifying(shop, broker, mail_server):
            broker.address.publish([fact, other])
            wait_until(lambda: bool(mail_server.to(address_of(somebody))), "the other mail is sent")
            dead_letters = broker.address.dead_letters()
            wait_until(lambda: len(dead_letters.peek(10)) == 1, "it is a dead letter")
        (letter,) = dead_letters.peek(10)
        assert (letter.message.id, letter.reason) == (fact.id, reason)
        assert mail_server.to(address_of(nobody)) == []

    def test_a_malformed_fact_becomes_a_dead_letter(
        self, shop: Shop, broker: BrokerUnderTest, mail_server: MailServer
    ) -> None:
        nobodys = Message(uuid4(), "order.confirmed", b'{"event_type": "order.confirmed"}', {})
        assert mails_after(shop, broker, mail_server, [nobodys]) == []
        (letter,) = broker.address.dead_letters().peek(10)
        assert letter.message.id == nobodys.id
        assert letter.reason.startswith("malformed message: ")


@pytest.mark.parametrize("kind", ["order.confirmed", "hold.expiring"])
def test_without_a_database_it_retries(shop: Shop, mail_server: MailServer, kind: str) -> None:
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
            PostgresCatalog(database),
            PostgresOrganizationSettings(database),
            PostgresMailTemplates(database),
        )
    finally:
        database.close()


def test_the_queue_is_drained_when_notices_are_disabled(
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
