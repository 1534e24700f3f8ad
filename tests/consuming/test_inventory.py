"""The Inventory Service follows the facts of a Hold Service. Each has a database of its own."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import replace as with_changes
from typing import Any
from uuid import UUID, uuid4

import pytest
from msgspec.structs import replace

from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.inventory.reader import PostgresReservations
from holdfast.bootstrap.consumers import inventory_consumers
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings
from holdfast.domain.catalog.changes import SetStock
from holdfast.domain.catalog.model import PoolState
from holdfast.domain.group.outcomes import Outcome, Reserved
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId, OrganizationId, SessionId
from holdfast.domain.inventory.reservation import ReservedLine, status_of
from holdfast.domain.inventory.reserve_tickets import ReserveTickets
from holdfast.ports.facts.log import Dead, Handled, Message
from holdfast.ports.privacy.addresses import CLEAR_ADDRESSES
from holdfast.services.inventory.hold_follower import HoldFollower
from tests.consuming.shop import STOP_SECONDS_MAX, Shop, elsewhere
from tests.contract.venues import ORIGIN
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import assert_sound, rows
from tests.support.brokers import BrokerUnderTest
from tests.support.databases import DatabaseFactory
from tests.support.patience import wait_until

COPIES = 3
STOCK = 1_000


@dataclass
class Inventory:
    """The tickets of one session of the shop, counted by another service."""

    world: PostgresWorld
    room: EngineRoom
    organization_id: OrganizationId
    shop: Shop

    @property
    def follower(self) -> HoldFollower:
        reader = PostgresReservations(self.room.database, CLEAR_ADDRESSES)
        return HoldFollower(self.room.admission, reader)

    def stock(self) -> None:
        venue = self.shop.venue
        for ticket_type_id in venue.ticket_types.values():
            ids = (self.organization_id, venue.session_id, ticket_type_id)
            catalog = PostgresCatalog(self.room.database)
            answer = catalog.apply(SetStock(*ids, STOCK), ORIGIN, None, lambda _: b"")
            assert isinstance(answer.outcome, PoolState)

    def reserve(self, hold: Hold) -> None:
        lines = tuple(ReservedLine(each.ticket_type_id, each.quantity) for each in hold.lines)
        ids = (self.organization_id, hold.id, hold.session_id)
        outcome = self.do(ReserveTickets(*ids, lines, ORIGIN))
        assert isinstance(outcome, Reserved), outcome

    def do(self, command: ReserveTickets) -> Outcome | None:
        return self.room.admission.submit(command).result(60).outcome

    def status(self, hold_id: HoldId) -> str | None:
        seen = self.room.holds.hold(self.organization_id, hold_id)
        return None if seen is None else status_of(seen.hold).value

    def counts(self) -> tuple[int, int]:
        catalog = PostgresCatalog(self.room.database)
        found = catalog.availability(self.organization_id, self.shop.venue.session_id)
        assert found is not None
        held = sum(each.held for each in found.ticket_types)
        return held, sum(each.sold for each in found.ticket_types)

    def receipts(self) -> list[UUID]:
        query = "SELECT event_id FROM inbox WHERE organization_id = %s AND consumer = 'inventory'"
        return [event_id for (event_id,) in rows(self.world.url, query, self.organization_id)]

    @contextmanager
    def following(self, broker: BrokerUnderTest) -> Iterator[None]:
        """Run the consumer of a service, with an engine of its own. Its queue is there at once."""
        name = "amqp_url" if broker.address.kind == "rabbitmq" else "redis_url"
        settings = replace(Settings(database_url=self.world.url), **{name: broker.address.url})
        room = EngineRoom(settings)
        room.start()
        threads = inventory_consumers(settings, room)
        for thread in threads:
            thread.start()
        try:
            self._await_queue(broker)
            yield
        finally:
            for thread in threads:
                thread.stop(STOP_SECONDS_MAX)
            room.stop()

    def _await_queue(self, broker: BrokerUnderTest) -> None:
        """Until the queue is bound, messages do not get there."""
        probe = HoldId(uuid4())
        about = {"hold_id": str(probe), "session_id": str(self.shop.venue.session_id)}

        def has_arrived() -> bool:
            broker.address.publish([fact("hold.expired", about)])
            return self.status(probe) == "released"

        wait_until(has_arrived, "the consumer is there")


def fact(type_: str, payload: dict[str, Any], event_id: UUID | None = None) -> Message:
    event_id = event_id or uuid4()
    body = {"event_id": str(event_id), "event_type": type_, "payload": payload}
    return Message(event_id, type_, json.dumps(body).encode(), {})


@pytest.fixture(scope="module")
def inventory_room(databases: DatabaseFactory) -> Iterator[EngineRoom]:
    room = EngineRoom(Settings(database_url=databases.fresh()))
    room.start()
    yield room
    room.stop()


@pytest.fixture
def inventory(inventory_room: EngineRoom, shop: Shop) -> Iterator[Inventory]:
    world = PostgresWorld(inventory_room.url)
    organization_id = world.venue({}, {}).organization_id
    inventory = Inventory(world, inventory_room, organization_id, shop)
    inventory.stock()
    yield inventory
    world.close()


def test_each_end_of_a_hold_is_followed_in_any_order_and_once(
    shop: Shop, inventory: Inventory, broker: BrokerUnderTest
) -> None:
    sold, given_up, expired = ([shop.hold(2) for _ in range(4)] for _ in range(3))
    for hold in (*sold, *given_up, *expired):
        inventory.reserve(hold)
    assert inventory.counts() == (24, 0)
    for hold in sold:
        shop.do(shop.venue.convert(hold.id))
    for hold in given_up:
        shop.do(shop.venue.release(hold.id))
    shop.world.let_pass(shop.venue, 601)
    shop.do(shop.venue.expire(*(hold.id for hold in expired)))
    types = ("hold.converted", "hold.cancelled", "hold.expired")
    messages = [message for type_ in types for message in shop.facts(type_, 4)]
    deliveries = messages * COPIES
    random.Random(11).shuffle(deliveries)
    with inventory.following(broker), inventory.following(broker):
        broker.address.publish(deliveries)
        taken = {message.id for message in messages}
        wait_until(lambda: taken <= set(inventory.receipts()), "all are done")
    assert {inventory.status(hold.id) for hold in sold} == {"committed"}
    assert {inventory.status(hold.id) for hold in (*given_up, *expired)} == {"released"}
    assert inventory.counts() == (0, 8)
    assert len(inventory.receipts()) == len(set(inventory.receipts()))
    assert broker.address.dead_letters().peek(100) == []
    assert_sound(inventory.world.url)


def test_a_failed_hold_that_arrives_later_is_refused(
    shop: Shop, inventory: Inventory, rabbit_alone: BrokerUnderTest
) -> None:
    """The fact of its end overtakes the call that reserves it."""
    hold = shop.hold(2)
    about = {"hold_id": str(hold.id), "session_id": str(hold.session_id), "quantity": 2}
    with inventory.following(rabbit_alone):
        rabbit_alone.address.publish([fact("hold.failed", about)])
        wait_until(lambda: inventory.status(hold.id) == "released", "it is recorded")
    lines = (ReservedLine(hold.lines[0].ticket_type_id, 2),)
    ids = (inventory.organization_id, hold.id, hold.session_id)
    refusal = inventory.do(ReserveTickets(*ids, lines, ORIGIN))
    assert not isinstance(refusal, Reserved)
    assert inventory.counts() == (0, 0)


def test_a_sale_that_overtakes_its_hold_is_put_aside(
    shop: Shop, inventory: Inventory, rabbit_alone: BrokerUnderTest
) -> None:
    """It is replayed once the hold is there; the Hold Service sends it, too."""
    hold = shop.hold(2)
    shop.do(shop.venue.convert(hold.id))
    letters = rabbit_alone.address.dead_letters()
    with inventory.following(rabbit_alone):
        rabbit_alone.address.publish(shop.facts("hold.converted"))
        wait_until(lambda: bool(letters.peek(1)), "it is a dead letter")
        assert [each.reason for each in letters.peek(9)] == ["hold_not_found: Hold not found"]
        inventory.reserve(hold)
        assert letters.replay() == 1
        wait_until(lambda: inventory.status(hold.id) == "committed", "it is sold")
    assert inventory.counts() == (0, 2)


class TestFollower:
    """The handler, without a broker."""

    def test_several_lines_and_seats_are_summed_up_by_ticket_type(
        self, shop: Shop, inventory: Inventory
    ) -> None:
        hold = shop.hold_seats("Stalls A 1", "Stalls A 2")
        lines = (ReservedLine(hold.lines[0].ticket_type_id, 2),)
        ids = (inventory.organization_id, hold.id, hold.session_id)
        inventory.do(ReserveTickets(*ids, lines, ORIGIN))
        shop.do(shop.venue.convert(hold.id))
        (message,) = shop.facts("hold.converted")
        assert inventory.follower.handle(message) is Handled.DONE
        assert inventory.counts() == (0, 2)

    def test_a_session_that_is_not_sold_here_is_none_of_its_business(
        self, inventory: Inventory
    ) -> None:
        about = {"hold_id": str(uuid4()), "session_id": str(uuid4())}
        assert inventory.follower.handle(fact("hold.expired", about)) is Handled.DONE

    def test_a_released_hold_is_not_sold(self, shop: Shop, inventory: Inventory) -> None:
        """The two disagree: people have to look at that."""
        hold = shop.hold(2)
        inventory.reserve(hold)
        about = {"hold_id": str(hold.id), "session_id": str(hold.session_id)}
        assert inventory.follower.handle(fact("hold.expired", about)) is Handled.DONE
        line = {"ticket_type_id": str(hold.lines[0].ticket_type_id), "quantity": 2}
        answer = inventory.follower.handle(fact("hold.converted", about | line))
        assert isinstance(answer, Dead)
        assert answer.reason.startswith("invalid_hold_state: ")

    @pytest.mark.parametrize(
        "body", [b"", b"{}", b'{"event_id": 1}', b"\xff", b'{"event_type": "hold.expired"}']
    )
    def test_a_malformed_message_is_put_aside(self, inventory: Inventory, body: bytes) -> None:
        answer = inventory.follower.handle(Message(uuid4(), "hold.expired", body, {}))
        assert isinstance(answer, Dead)
        assert answer.reason.startswith("malformed message: ")

    def test_an_impossible_sale_is_put_aside(self, inventory: Inventory) -> None:
        venue = inventory.shop.venue
        about = {"hold_id": str(uuid4()), "session_id": str(venue.session_id)}
        lines = {"lines": [{"ticket_type_id": str(uuid4()), "quantity": 0}]}
        answer = inventory.follower.handle(fact("hold.converted", about | lines))
        assert isinstance(answer, Dead)

    def test_without_the_database_a_message_waits(self, inventory: Inventory) -> None:
        room = EngineRoom(Settings(database_url=elsewhere(inventory.world.url)))
        room.start()
        reader = PostgresReservations(room.database, CLEAR_ADDRESSES)
        about = {"hold_id": str(uuid4()), "session_id": str(uuid4())}
        answer = with_changes(inventory.follower, reservations=reader).handle(
            fact("hold.expired", about)
        )
        assert answer is Handled.AGAIN
        room.stop()

    def test_all_organizations_with_the_session_follow(
        self, shop: Shop, inventory: Inventory
    ) -> None:
        """Ids are random, so there is hardly ever a second one. It takes no harm."""
        other = with_changes(
            inventory, organization_id=inventory.world.venue({}, {}).organization_id
        )
        other.stock()
        hold = shop.hold(2)
        inventory.reserve(hold)
        shop.do(shop.venue.convert(hold.id))
        (message,) = shop.facts("hold.converted")
        assert inventory.follower.handle(message) is Handled.DONE
        assert (inventory.status(hold.id), other.status(hold.id)) == ("committed", None)
        found = inventory.follower.reservations.organizations_of(SessionId(hold.session_id))
        assert set(found) == {inventory.organization_id, other.organization_id}
