"""A venue on sale, buyers who pay elsewhere, and the messages of the service that takes the
payments."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from holdfast.adapters.postgres.facts.outbox import PostgresFactLog
from holdfast.bootstrap.consumers import consumer_threads
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Outcome, Placed
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId
from holdfast.domain.orders.order import Order, checkout_id_of
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.values import EmailAddress, Holder
from holdfast.ports.facts.log import Message
from holdfast.services.facts.envelope import message_of
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.brokers import BrokerAddress
from tests.support.patience import wait_until
from tests.support.servers import free_port

HALL = Hall({"Stalls": {"A": 10}}, {"seat": ()})
STOP_SECONDS_MAX = 30.0
WARNING_SECONDS = 300
FACTS_MAX = 1_000


def a_buyer() -> Holder:
    return Holder(EmailAddress(f"buyer-{uuid4().hex[:12]}@example.com"))


@dataclass
class Shop:
    """`room` is the engine that the test itself uses."""

    world: PostgresWorld
    room: EngineRoom
    venue: Venue = field(init=False)

    def __post_init__(self) -> None:
        self.venue = self.build()

    def build(self, **policy: Any) -> Venue:
        types = {"standing": ("floor",)}
        # Early enough for a mail.
        rules = HoldPolicy(**{"warning_seconds": WARNING_SECONDS, **policy})
        return self.world.build(Plan({"floor": 1_000}, types, hall=HALL, policy=rules))

    def do(self, command: Command) -> Outcome | None:
        return self.room.admission.submit(command).result(60).outcome

    def hold(
        self, quantity: int = 2, *, holder: Holder | None = None, venue: Venue | None = None
    ) -> Hold:
        asked = (venue or self.venue).place(("standing", quantity), holder=holder or a_buyer())
        return self._placed(asked)

    def hold_seats(self, *names: str, holder: Holder | None = None) -> Hold:
        return self._placed(self.venue.seats(*names, holder=holder or a_buyer()))

    def _placed(self, command: Command) -> Hold:
        outcome = self.do(command)
        assert isinstance(outcome, Placed), outcome
        return outcome.hold

    def confirmed(self, *holds: Hold, event_id: UUID | None = None, **payload: Any) -> Message:
        """The message of the service that took the payment."""
        named = {} if "checkout_id" in payload else {"hold_ids": [str(hold.id) for hold in holds]}
        organization_id = holds[0].organization_id if holds else self.venue.organization_id
        return order_confirmed(
            organization_id, {"payment_reference": "pay-1", **named, **payload}, event_id
        )

    def check_out(self, *holds: Hold) -> str:
        self.do(self.venue.check_out(*(hold.id for hold in holds), holder=None))
        return str(checkout_id_of(hold.id for hold in holds))

    def order_of(self, hold: Hold) -> Order | None:
        orders = self.world.orders(self.venue).values()
        return next((order for order in orders if hold.id in order.hold_ids), None)

    def status(self, hold_id: HoldId, venue: Venue | None = None) -> str:
        return self.world.hold(venue or self.venue, hold_id).status.value

    def facts(self, wanted: str, count: int = 1) -> list[Message]:
        """Our facts of this type as messages, once there are that many."""
        wait_until(lambda: len(self._facts(wanted)) >= count, f"{count} of {wanted}")
        return self._facts(wanted)

    def _facts(self, wanted: str) -> list[Message]:
        log = PostgresFactLog(self.room.database)
        found = log.facts(self.venue.organization_id, None, FACTS_MAX)
        return [message_of(fact, None) for fact in found.items if fact.type == wanted]

    @contextmanager
    def consuming(self, broker: BrokerAddress, **settings: Any) -> Iterator[None]:
        """Run the consumers of a process, with their own engine."""
        settings["amqp_url" if broker.kind == "rabbitmq" else "redis_url"] = broker.url
        configured = Settings(database_url=self.world.url, **settings)
        room = EngineRoom(configured)
        room.start()
        threads = consumer_threads(configured, room.admission, room.database)
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            for thread in threads:
                thread.stop(STOP_SECONDS_MAX)
            room.stop()


def elsewhere(url: str) -> str:
    """The same URL with a port where nobody answers."""
    address = urlsplit(url)
    netloc = address.netloc.replace(f":{address.port}", f":{free_port()}")
    return address._replace(netloc=netloc).geturl()


def order_confirmed(organization_id: UUID, payload: Any, event_id: UUID | None = None) -> Message:
    event_id = event_id or uuid4()
    body = {
        "event_id": str(event_id),
        "event_type": "order.confirmed",
        "occurred_at": "2026-11-16T12:00:00Z",
        "organization_id": str(organization_id),
        "payload": payload,
    }
    return Message(event_id, "order.confirmed", json.dumps(body).encode(), {})
