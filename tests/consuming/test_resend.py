"""Staff send a buyer's mail again: once per request, by the notifier that sends all mails."""

from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import pytest

from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.adapters.postgres.mails.requests import PostgresMailRequests
from holdfast.adapters.postgres.mails.templates import PostgresMailTemplates
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Waiting
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId
from holdfast.domain.mails.kinds import MailKind
from holdfast.domain.mails.resend import PAYABLE_SECONDS_MIN, RESENDS_MAX
from holdfast.domain.mails.templates import MailTemplate
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import Holder
from holdfast.ports.facts.log import Handled, Message
from holdfast.ports.mails.templates import ChangeMailText
from holdfast.services.mails.resend import MailDesk, Offer
from tests.consuming.mail_server import MailServer
from tests.consuming.shop import Shop, a_buyer, elsewhere
from tests.consuming.test_notices import address_of, notifying, sender_on
from tests.contract.venues import a_purchase
from tests.support.auditing import assert_sound
from tests.support.brokers import BrokerUnderTest
from tests.support.patience import wait_until

ORIGIN = Origin("operator:desk", "req-1", acting_user="desk", reason="She lost it")


@pytest.fixture
def database(shop: Shop) -> Iterator[Database]:
    with closing(Database(shop.world.url)) as opened:
        opened.open()
        yield opened


@pytest.fixture
def desk(database: Database) -> MailDesk:
    return MailDesk(
        PostgresHolds(database), PostgresOrders(database), PostgresMailRequests(database)
    )


def ask(shop: Shop, desk: MailDesk, hold: Hold, kind: MailKind) -> Refusal | None:
    return desk.resend(shop.venue.organization_id, hold.id, kind, ORIGIN)


def requested(shop: Shop, desk: MailDesk, hold: Hold, kind: MailKind) -> Message:
    assert hold.holder.email is not None
    offer = desk.offer(shop.venue.organization_id, hold.id)
    assert offer == Offer(kind, hold.holder.email, hold.id)
    assert ask(shop, desk, hold, kind) is None
    return shop.facts("notice.requested")[-1]


def sent(shop: Shop, mail_server: MailServer, *facts: Message) -> list[str]:
    """The subjects of the mails sent for these facts."""
    with sender_on(shop.world.url, mail_server) as sender:
        for fact in facts:
            assert sender.handle(fact) is Handled.DONE
    return [str(each.mail["Subject"]) for each in mail_server.received]


def paid(shop: Shop) -> Hold:
    hold = shop.hold()
    shop.do(shop.venue.convert(hold.id, purchase=a_purchase()))
    return hold


def test_a_confirmation_is_sent_again_with_the_same_codes(
    shop: Shop, desk: MailDesk, mail_server: MailServer
) -> None:
    hold = paid(shop)
    fact = requested(shop, desk, hold, MailKind.CONFIRMATION)
    assert sent(shop, mail_server, fact) == [f"Your tickets for {event_name(mail_server)}"]
    (mail,) = mail_server.received
    order = shop.order_of(hold)
    assert order is not None
    assert mail.to == address_of(hold)
    assert all(ticket.code in mail.text for ticket in order.tickets)


def event_name(mail_server: MailServer) -> str:
    return str(mail_server.received[0].mail["Subject"]).removeprefix("Your tickets for ")


def test_each_request_sends_one_mail_however_often_it_is_delivered(
    shop: Shop, desk: MailDesk, mail_server: MailServer
) -> None:
    hold = paid(shop)
    first = requested(shop, desk, hold, MailKind.CONFIRMATION)
    second = requested(shop, desk, hold, MailKind.CONFIRMATION)
    assert len(sent(shop, mail_server, first, first, second, first)) == 2


def test_a_buyer_with_time_left_gets_the_reminder(
    shop: Shop, desk: MailDesk, mail_server: MailServer
) -> None:
    fact = requested(shop, desk, shop.hold(), MailKind.WARNING)
    (subject,) = sent(shop, mail_server, fact)
    assert subject.startswith("10 minutes left to pay for 2 tickets for ")


def test_a_promoted_buyer_gets_the_promotion(
    shop: Shop, desk: MailDesk, mail_server: MailServer
) -> None:
    shop.venue = shop.build(waitlist=True)
    held = shop.hold(1_000)
    outcome = shop.do(shop.venue.place(("standing", 2), holder=a_buyer()))
    assert isinstance(outcome, Waiting)
    refused = ask(shop, desk, outcome.hold, MailKind.PROMOTION)
    assert refused is not None
    shop.do(shop.venue.release(held.id))
    fact = requested(shop, desk, outcome.hold, MailKind.PROMOTION)
    (subject,) = sent(shop, mail_server, fact)
    assert subject.startswith("We have 2 tickets for you: ")


def test_a_buyer_whose_hold_expired_is_told_so(
    shop: Shop, desk: MailDesk, mail_server: MailServer
) -> None:
    hold = shop.hold()
    shop.world.let_pass(shop.venue, 601)
    fact = requested(shop, desk, hold, MailKind.EXPIRED)
    (subject,) = sent(shop, mail_server, fact)
    assert subject.endswith("has expired")


def test_a_request_that_is_no_longer_true_sends_nothing(
    shop: Shop, desk: MailDesk, mail_server: MailServer
) -> None:
    hold = shop.hold()
    fact = requested(shop, desk, hold, MailKind.WARNING)
    shop.do(shop.venue.release(hold.id))
    assert sent(shop, mail_server, fact) == []


def test_the_mail_has_the_organizations_own_text(
    shop: Shop, desk: MailDesk, database: Database, mail_server: MailServer
) -> None:
    own = MailTemplate("Tickets: {{ booking_reference }}", "{{ ticket_list }}")
    templates, kind = PostgresMailTemplates(database), MailKind.CONFIRMATION
    assert templates.save(ChangeMailText(shop.venue.organization_id, kind, own), ORIGIN)
    hold = paid(shop)
    fact = requested(shop, desk, hold, kind)
    assert sent(shop, mail_server, fact) == [f"Tickets: {hold.reference}"]
    assert "Thank you" not in mail_server.received[0].text


@pytest.mark.parametrize("state", ["no address", "too late", "released", "another"])
def test_a_refusal_says_why(shop: Shop, desk: MailDesk, state: str) -> None:
    hold, kind = shop.hold(), MailKind.WARNING
    match state:
        case "no address":
            hold, words = shop.hold(holder=Holder(user_id=f"user-{uuid4()}")), "no e-mail address"
        case "too late":
            shop.world.let_pass(shop.venue, 600 - PAYABLE_SECONDS_MIN + 1)
            words = "Less than two minutes"
        case "released":
            shop.do(shop.venue.release(hold.id))
            words = "cancelled"
        case _:
            kind, words = MailKind.CONFIRMATION, "Somebody else has changed this hold meanwhile"
    refused = ask(shop, desk, hold, kind)
    assert refused is not None
    assert words in refused.message
    assert requests_of(shop, hold) == []


def test_an_unknown_or_foreign_hold_is_not_found(shop: Shop, desk: MailDesk) -> None:
    theirs = shop.build()
    foreign = shop.hold(venue=theirs)
    for hold_id in (HoldId(uuid4()), foreign.id):
        refused = desk.resend(shop.venue.organization_id, hold_id, MailKind.WARNING, ORIGIN)
        assert refused is not None
        assert refused.code is RefusalCode.HOLD_NOT_FOUND


def test_a_buyer_is_not_flooded(shop: Shop, desk: MailDesk) -> None:
    hold, other = paid(shop), paid(shop)
    for _ in range(RESENDS_MAX):
        assert ask(shop, desk, hold, MailKind.CONFIRMATION) is None
    refused = ask(shop, desk, hold, MailKind.CONFIRMATION)
    assert refused is not None
    assert refused.code is RefusalCode.RATE_LIMIT_EXCEEDED
    assert len(requests_of(shop, hold)) == RESENDS_MAX
    assert ask(shop, desk, other, MailKind.CONFIRMATION) is None


def test_the_mail_about_an_order_goes_to_its_own_address(
    shop: Shop, desk: MailDesk, mail_server: MailServer
) -> None:
    """An order may join holds of one user id that have several addresses."""
    user, own = f"user-{uuid4()}", shop.venue.organization_id
    first, second = (shop.hold(holder=Holder(a_buyer().email, user)) for _ in range(2))
    plain = shop.hold(holder=Holder(user_id=user))
    shop.do(shop.venue.convert(first.id, second.id, plain.id, purchase=a_purchase()))
    assert first.holder.email is not None
    expected = Offer(MailKind.CONFIRMATION, first.holder.email, first.id)
    for hold in (first, second, plain):
        assert desk.offer(own, hold.id) == expected
        assert ask(shop, desk, hold, MailKind.CONFIRMATION) is None
    sent(shop, mail_server, shop.facts("notice.requested")[-1])
    assert mail_server.received[0].to == address_of(first)
    assert len(requests_of(shop, first)) == RESENDS_MAX == 3, "all count for the order"
    refused = ask(shop, desk, second, MailKind.CONFIRMATION)
    assert refused is not None
    assert refused.code is RefusalCode.RATE_LIMIT_EXCEEDED


@pytest.mark.parametrize(("minutes", "is_refused"), [(61, False), (59, True)])
def test_requests_count_for_an_hour(
    shop: Shop, desk: MailDesk, minutes: int, is_refused: bool
) -> None:
    hold = paid(shop)
    earlier = (
        "INSERT INTO audit (organization_id, at, action, hold_id, actor, request_id, new)"
        " VALUES (%s, now() - make_interval(secs => %s), 'notice.requested', %s, 'a', 'b', '{}')"
    )
    with shop.world.connected() as owner:
        for _ in range(RESENDS_MAX):
            values = (shop.venue.organization_id, minutes * 60, hold.id)
            owner.execute(earlier, values)
    assert (ask(shop, desk, hold, MailKind.CONFIRMATION) is not None) is is_refused


def test_the_audit_says_who_asked_and_why(shop: Shop, desk: MailDesk) -> None:
    hold = paid(shop)
    requested(shop, desk, hold, MailKind.CONFIRMATION)
    ((actor, acting_user, new),) = requests_of(shop, hold)
    assert (actor, acting_user) == ("operator:desk", "desk")
    assert new == {"mail": "confirmation", "reason": "She lost it"}
    assert_sound(shop.world.url)


def test_without_a_database_the_request_is_refused(shop: Shop) -> None:
    with closing(Database(elsewhere(shop.world.url))) as gone:
        gone.open()
        desk = MailDesk(PostgresHolds(gone), PostgresOrders(gone), PostgresMailRequests(gone))
        refused = ask(shop, desk, shop.hold(), MailKind.WARNING)
    assert refused is not None
    assert refused.code is RefusalCode.SERVICE_UNAVAILABLE


def test_a_request_waits_for_the_mail_server(
    shop: Shop, rabbit_alone: BrokerUnderTest, desk: MailDesk, mail_server: MailServer
) -> None:
    hold = paid(shop)
    fact = requested(shop, desk, hold, MailKind.CONFIRMATION)
    mail_server.stop()
    with notifying(shop, rabbit_alone, mail_server):
        rabbit_alone.address.publish([fact])
        mail_server.start()
        wait_until(lambda: bool(mail_server.to(address_of(hold))), "the mail is sent")
    assert len(mail_server.to(address_of(hold))) == 1


class TestExpired:
    def expired(self, shop: Shop) -> Message:
        hold = shop.hold()
        shop.world.let_pass(shop.venue, 601)
        shop.do(shop.venue.expire(hold.id))
        return shop.facts("hold.expired")[-1]

    def test_by_default_nobody_is_mailed(self, shop: Shop, mail_server: MailServer) -> None:
        assert sent(shop, mail_server, self.expired(shop)) == []

    def test_an_organization_can_turn_it_on(self, shop: Shop, mail_server: MailServer) -> None:
        turn_on = "UPDATE organization SET mail_when_expired = true WHERE id = %s"
        with shop.world.connected() as owner:
            owner.execute(turn_on, [shop.venue.organization_id])
        (subject,) = sent(shop, mail_server, self.expired(shop))
        assert subject.endswith("has expired")

    def test_a_buyer_who_paid_late_is_not_told_that_it_expired(
        self, shop: Shop, desk: MailDesk, mail_server: MailServer
    ) -> None:
        """Another hold has replaced it, and the buyer has the tickets."""
        shop.venue = shop.build(late_payment_seconds=3_600)
        with shop.world.connected() as owner:
            turn_on = "UPDATE organization SET mail_when_expired = true WHERE id = %s"
            owner.execute(turn_on, [shop.venue.organization_id])
        hold = shop.hold()
        shop.world.let_pass(shop.venue, 601)
        shop.do(shop.venue.convert(hold.id, purchase=a_purchase()))
        (fact,) = shop.facts("hold.expired")
        assert sent(shop, mail_server, fact) == []
        refused = ask(shop, desk, hold, MailKind.EXPIRED)
        assert refused is not None
        assert "another hold replaces it" in refused.message


def requests_of(shop: Shop, hold: Hold) -> list[tuple[object, ...]]:
    query = (
        "SELECT actor, acting_user, new FROM audit"
        " WHERE action = 'notice.requested' AND hold_id = %s ORDER BY seq"
    )
    with shop.world.connected() as owner:
        return owner.execute(query, [hold.id]).fetchall()
