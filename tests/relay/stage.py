"""A sale whose facts are relayed, and the check that they arrived."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import psycopg

from holdfast.adapters.postgres.facts.outbox import PostgresOutbox
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Placed, Released
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import HoldPolicy
from holdfast.engine import Admission
from holdfast.ports.facts.log import Message, Publisher
from holdfast.services.facts.relay import Relay
from tests.contract.asking import render_plainly
from tests.contract.tables import Connection
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.patience import PATIENT, wait_until

PLENTY = 1_000_000
ROW = 40  # seats
ANSWER_SECONDS_MAX = 60
HALL = Hall({"Stalls": {"A": ROW}}, {"seat": ()})
# Allows late payments and several holds per person.
POLICY = HoldPolicy(late_payment_seconds=3600)


class Stored(NamedTuple):
    """A fact in the log."""

    event_id: UUID
    type: str
    subject: UUID  # its hold, or else its seat or its part of the catalog
    partition: int


@dataclass(frozen=True)
class Stage:
    url: str
    world: PostgresWorld
    engine: Admission
    venue: Venue

    def ask(self, *commands: Command) -> list[object]:
        """Submit all at once, to share transactions."""
        futures = [self.engine.submit(command, render_plainly) for command in commands]
        return [future.result(ANSWER_SECONDS_MAX).outcome for future in futures]

    def place(self, count: int) -> list[HoldId]:
        outcomes = self.ask(*(self.venue.place(("standing", 1)) for _ in range(count)))
        assert all(isinstance(outcome, Placed) for outcome in outcomes), outcomes
        return [outcome.hold.id for outcome in outcomes if isinstance(outcome, Placed)]

    def place_and_release(self, count: int) -> list[HoldId]:
        """Make two facts per hold, in order."""
        hold_ids = self.place(count)
        outcomes = self.ask(*map(self.venue.release, hold_ids))
        assert all(isinstance(outcome, Released) for outcome in outcomes), outcomes
        return hold_ids

    def stored(self) -> list[Stored]:
        """The facts that must arrive, in log order."""
        with psycopg.connect(self.url) as connection:
            rows = connection.execute(
                "SELECT event_id, type, coalesce(hold_id, seat_id, catalog_id), partition"
                " FROM outbox ORDER BY xid, seq"
            ).fetchall()
        return [Stored(*row) for row in rows]

    @contextmanager
    def relay(self, publisher: Publisher) -> Iterator[Relay]:
        with closing(PostgresOutbox(self.url)) as outbox, closing(publisher):
            yield Relay(outbox, publisher)

    def relay_all(self, publisher: Publisher) -> None:
        """Relay until nothing is left."""
        with self.relay(publisher) as relay:
            wait_until(lambda: not _lag_after(relay), "everything is relayed")

    def wait_until_relayed(self) -> None:
        """Wait for other relays."""
        with closing(PostgresOutbox(self.url)) as outbox:
            wait_until(lambda: outbox.lag().waiting == 0, "everything is relayed")

    def cut_relays(self) -> None:
        """Terminate their database connections, whatever they are doing."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE application_name = 'holdfast relay' AND datname = current_database()"
            )

    def forget_cursors(self) -> None:
        with psycopg.connect(self.url) as connection:
            connection.execute("DELETE FROM relay_cursor")

    def assert_arrived(self, messages: Sequence[Message], *, once: bool = False) -> None:
        """Check that nothing is lost or invented, duplicates are identical, and the facts of each
        hold are in order."""
        stored = self.stored()
        assert stored
        ids_arrived = [message.id for message in messages]
        assert set(ids_arrived) == {fact.event_id for fact in stored}
        if once:
            assert len(ids_arrived) == len(stored)
        first = {message.id: message for message in reversed(messages)}
        assert all(message == first[message.id] for message in messages)
        subjects = {fact.event_id: fact.subject for fact in stored}
        # dict keeps the first of each, in order
        assert _by_subject(dict.fromkeys(ids_arrived), subjects) == _by_subject(
            (fact.event_id for fact in stored), subjects
        )


def _lag_after(relay: Relay) -> int:
    relay.tend()
    return relay.run_once().lag.waiting


def _by_subject(
    event_ids: "dict[UUID, None] | Iterator[UUID]", subjects: dict[UUID, UUID]
) -> dict[UUID, list[UUID]]:
    found: defaultdict[UUID, list[UUID]] = defaultdict(list)
    for event_id in event_ids:
        found[subjects[event_id]].append(event_id)
    return found


@contextmanager
def staged(url: str, venue: Venue | None = None) -> Iterator[Stage]:
    """A sale in this database: a new one, or an existing one."""
    world = PostgresWorld(url)
    if venue is None:
        plan = Plan({"floor": PLENTY}, {"standing": ("floor",)}, POLICY, hall=HALL)
        venue = world.build(plan)
    engine = Admission(world.store, PATIENT)
    engine.start()
    try:
        yield Stage(url, world, engine, venue)
    finally:
        engine.stop()
        world.close()


def write_fact(connection: Connection, venue: Venue, partition: int = 0) -> UUID:
    """Write a fact of a new hold in the open transaction of this connection."""
    row = connection.execute(
        "INSERT INTO outbox (organization_id, event_id, hold_id, version, type, partition,"
        " occurred_at, payload) VALUES (%s, gen_random_uuid(), gen_random_uuid(), 1,"
        " 'hold.cancelled', %s, now(), '{}') RETURNING event_id",
        [venue.organization_id, partition],
    ).fetchone()
    assert row is not None
    event_id = row[0]
    assert isinstance(event_id, UUID)
    return event_id


@dataclass
class Listed:
    """A publisher that lists its messages, after calling `before`."""

    messages: list[Message]
    before: Callable[[Sequence[Message]], None] = lambda _: None

    def publish(self, messages: Sequence[Message]) -> None:
        self.before(messages)
        self.messages.extend(messages)

    def close(self) -> None:
        """Nothing to close."""

    @property
    def ids(self) -> list[UUID]:
        return [message.id for message in self.messages]
