"""Orders confirmed by another service."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from holdfast.adapters.postgres.audit.attempts import PostgresAttempts
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings
from holdfast.domain.orders.order import TICKETS_PER_ORDER_MAX
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.values import InvalidValue
from holdfast.ports.facts.deliveries import TOO_OFTEN
from holdfast.ports.facts.log import Handled, Message
from holdfast.services.orders.confirmations import OrderTaker, paid_order_of
from tests.consuming.shop import Shop, a_buyer, elsewhere, order_confirmed
from tests.contract.venues import Plan, a_purchase
from tests.support.auditing import rows
from tests.support.brokers import BrokerUnderTest
from tests.support.patience import wait_until

COPIES = 3


def refused_codes(shop: Shop) -> list[tuple[str, str]]:
    """Action and code of refused orders in the audit."""
    found = rows(
        shop.world.url,
        "SELECT action, new ->> 'error' FROM audit"
        " WHERE organization_id = %s AND actor = 'orders' AND action LIKE '%%_failed'",
        shop.venue.organization_id,
    )
    return [(action, code) for action, code in found]


def receipts(shop: Shop) -> list[UUID]:
    found = rows(
        shop.world.url,
        "SELECT event_id FROM inbox WHERE organization_id = %s AND consumer = 'orders'",
        shop.venue.organization_id,
    )
    return [event_id for (event_id,) in found]


def dead_letter_ids(broker: BrokerUnderTest) -> list[UUID]:
    return [letter.message.id for letter in broker.address.dead_letters().peek(100)]


def reasons(broker: BrokerUnderTest) -> list[str]:
    return [letter.reason for letter in broker.address.dead_letters().peek(100)]


class TestAcceptedOrders:
    def test_a_checkout_becomes_an_order_with_the_given_id(
        self, shop: Shop, broker: BrokerUnderTest
    ) -> None:
        holds = [shop.hold(2), shop.hold_seats("Stalls A 1", "Stalls A 2")]
        first, second = holds[0], shop.hold(3, holder=holds[0].holder)
        checkout_id, order_id = shop.check_out(first, second), uuid4()
        message = shop.confirmed(checkout_id=checkout_id, order_id=str(order_id))
        with shop.consuming(broker.address):
            broker.address.send_to_us(message)
            wait_until(lambda: shop.order_of(first) is not None, "the order is there")
        order = shop.order_of(first)
        assert order is not None
        assert order.id == order_id
        assert str(order.checkout_id) == checkout_id
        assert set(order.hold_ids) == {first.id, second.id}
        assert order.payment_reference == "pay-1"
        assert len({ticket.code for ticket in order.tickets}) == 5
        assert {shop.status(hold.id) for hold in (first, second)} == {"converted"}
        assert shop.status(holds[1].id) == "active"

    def test_the_payload_can_name_holds_and_the_organization(
        self, shop: Shop, broker: BrokerUnderTest
    ) -> None:
        hold = shop.hold_seats("Stalls A 1", "Stalls A 2")
        body = (
            b'{"event_id": "%s", "event_type": "order.confirmed", "payload": {"hold_ids": ["%s"],'
        )
        body += b' "organization_id": "%s", "payment_reference": "pay-2", "shop": "new"}}'
        named = (uuid4(), hold.id, shop.venue.organization_id)
        body %= tuple(str(each).encode() for each in named)
        with shop.consuming(broker.address):
            broker.address.send_to_us(Message(uuid4(), "order.confirmed", body, {}))
            wait_until(lambda: shop.order_of(hold) is not None, "the order is there")
        order = shop.order_of(hold)
        assert order is not None
        assert order.payment_reference == "pay-2"
        assert [ticket.seat.number for ticket in order.tickets if ticket.seat] == ["1", "2"]

    def test_duplicated_and_shuffled_messages_have_one_effect_each(
        self, shop: Shop, broker: BrokerUnderTest
    ) -> None:
        holds = [shop.hold(1) for _ in range(12)]
        messages = [shop.confirmed(hold) for hold in holds]
        deliveries = messages * COPIES
        random.Random(7).shuffle(deliveries)
        for message in deliveries:
            broker.address.send_to_us(message)
        with shop.consuming(broker.address), shop.consuming(broker.address):
            wait_until(lambda: len(shop.world.orders(shop.venue)) == len(holds), "all are done")
        # Remaining copies are consumed before this message.
        last = shop.hold(1)
        broker.address.send_to_us(shop.confirmed(last))
        with shop.consuming(broker.address):
            wait_until(lambda: shop.order_of(last) is not None, "the last one is done")
        assert len(shop.world.orders(shop.venue)) == len(holds) + 1
        assert {message.id for message in messages} < set(receipts(shop))
        assert shop.world.pool(shop.venue.pools["floor"]).sold == len(holds) + 1
        assert dead_letter_ids(broker) == []


class TestRefusedOrders:
    @pytest.fixture
    def refused(self, shop: Shop, broker: BrokerUnderTest) -> Any:
        """Send a message that must be refused, and wait until it is a dead letter. Its reason
        matches the audit."""

        def send(message: Message) -> list[tuple[str, str]]:
            with shop.consuming(broker.address):
                broker.address.send_to_us(message)
                wait_until(lambda: message.id in dead_letter_ids(broker), "it is a dead letter")
            codes = refused_codes(shop)
            (reason,) = reasons(broker)
            assert all(reason.startswith(f"{code}: ") for _, code in codes)
            return codes

        return send

    def test_an_expired_hold_is_refused(self, shop: Shop, refused: Any) -> None:
        hold = shop.hold()
        shop.world.let_pass(shop.venue, 601)
        assert refused(shop.confirmed(hold)) == [("hold.convert_failed", "hold_expired")]
        assert shop.world.orders(shop.venue) == {}
        assert receipts(shop) == []

    def test_an_unknown_checkout_is_refused(
        self, shop: Shop, broker: BrokerUnderTest, refused: Any
    ) -> None:
        assert refused(shop.confirmed(checkout_id=str(uuid4()))) == []
        assert reasons(broker) == ["checkout_not_found: Checkout not found"]

    def test_a_hold_of_another_organization_is_refused(self, shop: Shop, refused: Any) -> None:
        other = shop.build()
        hold = shop.hold(venue=other)
        message = order_confirmed(
            shop.venue.organization_id,
            {"hold_ids": [str(hold.id)], "payment_reference": "pay-1"},
        )
        assert refused(message) == [("hold.convert_failed", "hold_not_found")]
        assert shop.status(hold.id, other) == "active"

    def test_a_second_payment_is_refused(self, shop: Shop, refused: Any) -> None:
        hold = shop.hold()
        shop.do(shop.venue.convert(hold.id, purchase=a_purchase(payment_reference="pay-1")))
        codes = refused(shop.confirmed(hold, payment_reference="pay-2"))
        assert codes == [("hold.convert_failed", RefusalCode.ALREADY_PAID.value)]
        assert len(shop.world.orders(shop.venue)) == 1

    def test_another_order_under_a_used_message_id_is_refused(
        self, shop: Shop, refused: Any
    ) -> None:
        first, second, event_id = shop.hold(), shop.hold(), uuid4()
        taken = shop.confirmed(first, event_id=event_id)
        with taker_on(shop.world.url) as taker:
            assert taker.handle(taken) is Handled.DONE
            # Other whitespace is the same message.
            assert taker.handle(replace(taken, body=taken.body + b" ")) is Handled.DONE
        codes = refused(shop.confirmed(first, second, event_id=event_id))
        assert codes == [("hold.convert_failed", "idempotency_key_reused")]
        assert shop.status(second.id) == "active"

    def test_another_payment_under_a_used_message_id_is_refused(
        self, shop: Shop, refused: Any
    ) -> None:
        hold, event_id = shop.hold(), uuid4()
        with taker_on(shop.world.url) as taker:
            assert taker.handle(shop.confirmed(hold, event_id=event_id)) is Handled.DONE
        codes = refused(shop.confirmed(hold, event_id=event_id, payment_reference="pay-2"))
        assert codes == [("hold.convert_failed", "already_paid")]

    def test_an_order_with_too_many_tickets_is_refused(self, shop: Shop, refused: Any) -> None:
        buyer, half = a_buyer(), TICKETS_PER_ORDER_MAX // 2 + 1
        shop.venue = shop.world.build(Plan({"floor": 2 * half}, {"standing": ("floor",)}))
        holds = [shop.hold(half, holder=buyer) for _ in range(2)]
        codes = refused(shop.confirmed(*holds))
        assert codes == [("hold.convert_failed", "too_many_tickets")]
        assert {shop.status(hold.id) for hold in holds} == {"active"}

    def test_a_malformed_message_is_refused(self, broker: BrokerUnderTest, refused: Any) -> None:
        assert refused(Message(uuid4(), "order.confirmed", b'{"event_id": 1}', {})) == []
        assert reasons(broker) == [
            "malformed message: Expected `uuid`, got `int` - at `$.event_id`"
        ]


def test_a_payment_reported_by_api_and_message_makes_one_order(
    shop: Shop, rabbit_alone: BrokerUnderTest
) -> None:
    hold, next_one = shop.hold(), shop.hold()
    shop.do(shop.venue.convert(hold.id, purchase=a_purchase(payment_reference="pay-1")))
    with shop.consuming(rabbit_alone.address):
        rabbit_alone.address.send_to_us(shop.confirmed(hold))
        rabbit_alone.address.send_to_us(shop.confirmed(next_one))
        wait_until(lambda: shop.order_of(next_one) is not None, "both are done")
    assert len(shop.world.orders(shop.venue)) == 2
    assert dead_letter_ids(rabbit_alone) == []


def test_a_late_payment_delivered_twice_makes_one_order(
    shop: Shop, rabbit_alone: BrokerUnderTest
) -> None:
    shop.venue = shop.build(late_payment_seconds=900)
    hold = shop.hold()
    shop.world.let_pass(shop.venue, 700)
    message = shop.confirmed(hold)
    with shop.consuming(rabbit_alone.address):
        rabbit_alone.address.send_to_us(message)
        rabbit_alone.address.send_to_us(message)
        rabbit_alone.address.send_to_us(shop.confirmed(hold, payment_reference="another"))
        wait_until(
            lambda: len(dead_letter_ids(rabbit_alone)) == 1, "the second payment is a dead letter"
        )
    (order,) = shop.world.orders(shop.venue).values()
    assert order.payment_reference == "pay-1"
    assert refused_codes(shop) == [("hold.convert_failed", "already_paid")]


@pytest.mark.usefixtures("quick")
def test_a_used_order_id_is_retried_then_becomes_a_dead_letter(
    shop: Shop, rabbit_alone: BrokerUnderTest
) -> None:
    first, second, order_id = shop.hold(), shop.hold(), str(uuid4())
    with shop.consuming(rabbit_alone.address):
        rabbit_alone.address.send_to_us(shop.confirmed(first, order_id=order_id))
        rabbit_alone.address.send_to_us(shop.confirmed(second, order_id=order_id))
        wait_until(lambda: len(dead_letter_ids(rabbit_alone)) == 1, "the second is a dead letter")
    (letter,) = rabbit_alone.address.dead_letters().peek(10)
    assert letter.reason == TOO_OFTEN
    assert shop.status(first.id) == "converted"
    assert shop.status(second.id) == "active"


@pytest.mark.parametrize("by_checkout", [True, False])
def test_a_message_is_retried_without_a_database(shop: Shop, by_checkout: bool) -> None:
    hold = shop.hold()
    named: dict[str, Any] = {"checkout_id": shop.check_out(hold)} if by_checkout else {}
    message = shop.confirmed(hold, **named)
    with taker_on(elsewhere(shop.world.url)) as taker:
        assert taker.handle(message) is Handled.AGAIN
    with taker_on(shop.world.url) as taker:
        assert taker.handle(message) is Handled.DONE
    assert shop.status(hold.id) == "converted"


@contextmanager
def taker_on(url: str) -> Iterator[OrderTaker]:
    room = EngineRoom(Settings(database_url=url, holdfast_deadline_seconds=1))
    room.start()
    try:
        yield OrderTaker(
            room.admission,
            room.holds,
            PostgresOrders(room.database),
            PostgresAttempts(room.database, room.hashes),
        )
    finally:
        room.stop()


ORGANIZATION, HOLD = str(uuid4()), str(uuid4())
GOOD: dict[str, Any] = {"hold_ids": [HOLD], "payment_reference": "pay-1"}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\xff", id="not text"),
        pytest.param(b"[]", id="not an object"),
        pytest.param(b'{"event_type": "order.confirmed"}', id="no id"),
        *(
            pytest.param(order_confirmed(UUID(ORGANIZATION), payload).body, id=name)
            for name, payload in {
                "no payment": {"hold_ids": [HOLD]},
                "empty payment": {**GOOD, "payment_reference": ""},
                "long payment": {**GOOD, "payment_reference": "p" * 256},
                "unprintable payment": {**GOOD, "payment_reference": "a\x00b"},
                "nothing named": {"payment_reference": "pay-1"},
                "both named": {**GOOD, "checkout_id": HOLD},
                "no uuid": {**GOOD, "hold_ids": ["one"]},
                "no holds": {**GOOD, "hold_ids": []},
                "too many holds": {**GOOD, "hold_ids": [HOLD] * (TICKETS_PER_ORDER_MAX + 1)},
                "two organizations": {**GOOD, "organization_id": HOLD},
                "no object": "text",
            }.items()
        ),
        pytest.param(
            order_confirmed(UUID(ORGANIZATION), GOOD).body.replace(b"order.conf", b"hold.conf"),
            id="another type",
        ),
    ],
)
def test_a_malformed_message_is_rejected(body: bytes) -> None:
    with pytest.raises(InvalidValue):
        paid_order_of(body)


def test_a_valid_message_is_parsed() -> None:
    paid = paid_order_of(order_confirmed(UUID(ORGANIZATION), GOOD).body)
    assert (str(paid.organization_id), [str(each) for each in paid.hold_ids]) == (
        ORGANIZATION,
        [HOLD],
    )
