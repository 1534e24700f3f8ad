"""The rate at which a relay publishes a backlog. Shown without a target."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial

from bench.lab import Lab
from bench.loading import HOUR_SECONDS, load_holds
from bench.results import Figure, median, relative_spread
from bench.rounds import Plan, alternate
from holdfast.adapters.embedded import EmbeddedServiceError, EmbeddedValkey
from holdfast.adapters.postgres.facts.outbox import PostgresOutbox
from holdfast.adapters.rabbitmq.publisher import RabbitPublisher
from holdfast.adapters.redis.facts import ValkeyPublisher
from holdfast.ports.facts.log import PARTITIONS, Publisher
from holdfast.services.facts.relay import Relay
from tests.support.rabbit import RabbitBroker

FACTS = 20_000
SECRET = "of-the-bench-" * 3

# A hold.created fact for each hold, in the hold's partition.
INSERT_FACTS = f"""
INSERT INTO outbox (organization_id, event_id, hold_id, version, type, partition, occurred_at,
    payload)
SELECT organization_id, gen_random_uuid(), id, 1, 'hold.created',
    get_byte(uuid_send(id), 15) % {PARTITIONS}, now(),
    jsonb_build_object('hold_id', id, 'session_id', session_id, 'ticket_type_id', session_id,
        'quantity', 1, 'customer_email', reference || '@example.com', 'expires_at', expires_at)
FROM hold
"""

MakePublisher = Callable[[], Publisher]


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    with _brokers(lab) as brokers:
        measured = alternate(
            plan, "relay", {name: partial(_rate, lab, make) for name, make in brokers.items()}
        )
    return [
        Figure(name, 1, median(measured.of(name)), spread=relative_spread(measured.of(name)))
        for name in brokers
    ]


@contextmanager
def _brokers(lab: Lab) -> Iterator[dict[str, MakePublisher]]:
    """Valkey, and RabbitMQ if it is or can be installed."""
    with ExitStack() as running:
        valkey = running.enter_context(EmbeddedValkey(lab.directory / "valkey"))
        brokers: dict[str, MakePublisher] = {
            "relay to Valkey": partial(ValkeyPublisher, valkey.url, 2 * FACTS)
        }
        rabbit = RabbitBroker(lab.directory / "rabbit")
        with suppress(EmbeddedServiceError):
            running.enter_context(rabbit)
            brokers["relay to RabbitMQ"] = partial(RabbitPublisher, rabbit.url)
        yield brokers


def _rate(lab: Lab, make_publisher: MakePublisher) -> float:
    """Facts per second that one relay publishes and marks as published."""
    lab.clear()
    load_holds(lab, FACTS, ends_in_seconds=HOUR_SECONDS)
    with lab.connected() as connection:
        connection.execute("DELETE FROM relay_cursor")
        connection.execute(INSERT_FACTS)
    with closing(PostgresOutbox(lab.url)) as outbox, closing(make_publisher()) as publisher:
        relay = Relay(outbox, publisher, SECRET)
        started = time.perf_counter()
        published = 0
        while published < FACTS:
            published += relay.run_once().published
        return FACTS / (time.perf_counter() - started)
