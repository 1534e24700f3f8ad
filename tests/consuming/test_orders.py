"""Orders that another service has confirmed."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest

from holdfast.adapters.postgres.attempts import PostgresAttempts
from holdfast.adapters.postgres.orders import PostgresOrders
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings
from holdfast.domain.refusals import RefusalCode
from holdfast.domain.values import InvalidValue
from holdfast.ports import deliveries
from holdfast.ports.facts import Handled, Message
from holdfast.services.taking_orders import OrderTaker, paid_order_of
from tests.consuming.shop import Shop, elsewhere, order_confirmed
from tests.contract.venues import a_purchase
from tests.support.auditing import rows
from tests.support.brokers import BrokerUnderTest, wait_until

COPIES = 3


def refused_codes(shop: Shop) -> list[tuple[str, str]]:
    """Action and code of what was refused to the orders, by the audit."""
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


def put_aside(broker: BrokerUnderTest) -> list[UUID]:
    return [letter.message.id for letter in broker.address.dead_letters().peek(100)]


class TestTakingOrders:
    def test_a_checkout_becomes_the_order_that_the_other_service_names(
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

    def test_holds_can_be_named_and_the_organization_be_in_the_payload(
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
        # What is left of the copies comes before this one.
        last = shop.hold(1)
        broker.address.send_to_us(shop.confirmed(last))
        with shop.consuming(broker.address):
            wait_until(lambda: shop.order_of(last) is not None, "the last one is done")
        assert len(shop.world.orders(shop.venue)) == len(holds) + 1
        assert {message.id for message in messages} < set(receipts(shop))
        assert shop.world.pool(shop.venue.pools["floor"]).sold == len(holds) + 1
        assert put_aside(broker) == []


class TestRefusingOrders:
    @pytest.fixture
    def refused(self, shop: Shop, broker: BrokerUnderTest) -> Any:
        """Sends a message that is to be refused, and waits until it is put aside."""

        def send(message: Message) -> list[tuple[str, str]]:
            with shop.consuming(broker.address):
                broker.address.send_to_us(message)
                wait_until(lambda: message.id in put_aside(broker), "it is put aside")
            return refused_codes(shop)

        return send

    def test_a_lapsed_hold(self, shop: Shop, refused: Any) -> None:
        hold = shop.hold()
        shop.world.let_pass(shop.venue, 601)
        assert refused(shop.confirmed(hold)) == [("hold.convert_failed", "hold_expired")]
        assert shop.world.orders(shop.venue) == {}
        assert receipts(shop) == []

    def test_an_unknown_checkout(self, shop: Shop, refused: Any) -> None:
        assert refused(shop.confirmed(checkout_id=str(uuid4()))) == []

    def test_another_organizations_hold(self, shop: Shop, refused: Any) -> None:
        other = shop.build()
        hold = shop.hold(venue=other)
        message = order_confirmed(
            shop.venue.organization_id,
            {"hold_ids": [str(hold.id)], "payment_reference": "pay-1"},
        )
        assert refused(message) == [("hold.convert_failed", "hold_not_found")]
        assert shop.status(hold.id, other) == "active"

    def test_a_second_payment_is_for_people_to_give_back(self, shop: Shop, refused: Any) -> None:
        hold = shop.hold()
        shop.do(shop.venue.convert(hold.id, purchase=a_purchase(payment_reference="pay-1")))
        codes = refused(shop.confirmed(hold, payment_reference="pay-2"))
        assert codes == [("hold.convert_failed", RefusalCode.ALREADY_PAID.value)]
        assert len(shop.world.orders(shop.venue)) == 1

    def test_a_message_that_nobody_understands(self, shop: Shop, refused: Any) -> None:
        assert refused(Message(uuid4(), "order.confirmed", b"{", {})) == []


def test_the_same_payment_told_by_two_ways_is_one_order(
    shop: Shop, rabbit_alone: BrokerUnderTest
) -> None:
    hold, next_one = shop.hold(), shop.hold()
    shop.do(shop.venue.convert(hold.id, purchase=a_purchase(payment_reference="pay-1")))
    with shop.consuming(rabbit_alone.address):
        rabbit_alone.address.send_to_us(shop.confirmed(hold))
        rabbit_alone.address.send_to_us(shop.confirmed(next_one))
        wait_until(lambda: shop.order_of(next_one) is not None, "both are done")
    assert len(shop.world.orders(shop.venue)) == 2
    assert put_aside(rabbit_alone) == []


def test_a_late_payment_that_is_told_twice_is_one_order(
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
        wait_until(lambda: len(put_aside(rabbit_alone)) == 1, "the second payment is put aside")
    (order,) = shop.world.orders(shop.venue).values()
    assert order.payment_reference == "pay-1"
    assert refused_codes(shop) == [("hold.convert_failed", "already_paid")]


def test_an_order_id_that_is_taken_is_tried_a_few_times_and_put_aside(
    shop: Shop, rabbit_alone: BrokerUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "PAUSE_SECONDS_MAX", 0.05)
    first, second, order_id = shop.hold(), shop.hold(), str(uuid4())
    with shop.consuming(rabbit_alone.address):
        rabbit_alone.address.send_to_us(shop.confirmed(first, order_id=order_id))
        rabbit_alone.address.send_to_us(shop.confirmed(second, order_id=order_id))
        wait_until(lambda: len(put_aside(rabbit_alone)) == 1, "the second is put aside")
    (letter,) = rabbit_alone.address.dead_letters().peek(10)
    assert letter.reason == deliveries.TOO_OFTEN
    assert shop.status(first.id) == "converted"
    assert shop.status(second.id) == "active"


@pytest.mark.parametrize("by_checkout", [True, False])
def test_without_a_database_a_message_waits(shop: Shop, by_checkout: bool) -> None:
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
            PostgresAttempts(room.database),
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
def test_a_malformed_message_is_not_an_order(body: bytes) -> None:
    with pytest.raises(InvalidValue):
        paid_order_of(body)


def test_a_good_message_is_understood() -> None:
    paid = paid_order_of(order_confirmed(UUID(ORGANIZATION), GOOD).body)
    assert (str(paid.organization_id), [str(each) for each in paid.hold_ids]) == (
        ORGANIZATION,
        [HOLD],
    )
