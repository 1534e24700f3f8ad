"""Forgetting a person beside the engine: no group waits for it, none writes what was forgotten, and
the integrity check stays silent."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from holdfast.adapters.postgres.engine.group import Reading
from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.privacy import forgetting
from holdfast.adapters.postgres.privacy.forgetting import PostgresForgetting
from holdfast.domain.forgetting import pseudonym
from holdfast.domain.group.footprint import Needs, Resource, ResourceKind
from holdfast.domain.group.outcomes import OrderCancelled, Outcome
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.holds.hold import Hold
from holdfast.domain.orders.order import Attendee, Order
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import EmailAddress, Holder
from holdfast.engine import Admission
from holdfast.ports.privacy.addresses import Addresses
from holdfast.ports.store import Wanted
from holdfast.services.access.address_seal import address_seal
from tests.contract.asking import ask, cancelled, converted, placed
from tests.contract.venues import ORIGIN, Hall, Plan, Venue, a_purchase
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import assert_sound
from tests.support.patience import PATIENCE_SECONDS, PATIENT

SECRET = "a secret of the installation, 32 characters"
ADDRESSES = Addresses(address_seal([SECRET]), HolderHashes(SECRET))
HALL = Hall({"Stalls": {"A": 4}}, {"seat": ()})
GUARD = "FOR NO KEY UPDATE"


@pytest.fixture
def world(quiet_database_url: str) -> Iterator[PostgresWorld]:
    world = PostgresWorld(quiet_database_url)
    world.store = PostgresStore(quiet_database_url, ADDRESSES)
    yield world
    world.close()


@pytest.fixture
def engine(world: PostgresWorld) -> Iterator[Admission]:
    engine = Admission(world.store, PATIENT)
    engine.start()
    yield engine
    engine.stop()


@pytest.fixture
def database(quiet_database_url: str) -> Iterator[Database]:
    with closing(Database(quiet_database_url)) as opened:
        opened.open()
        yield opened


@pytest.fixture
def venue(world: PostgresWorld) -> Venue:
    return world.build(Plan({"floor": 50}, {"standing": ("floor",)}, hall=HALL))


def someone() -> EmailAddress:
    return EmailAddress(f"ann-{uuid4().hex[:8]}@example.com")


def bought(
    engine: Admission,
    venue: Venue,
    *asks: object,
    by: EmailAddress,
    for_: tuple[Attendee, ...] = (),
) -> Order:
    hold = placed(engine, venue.place(*asks, holder=Holder(by)))  # type: ignore[arg-type]
    purchase = replace(a_purchase(), attendees=for_)
    return converted(engine, venue.convert(hold.id, purchase=purchase)).order


def forget(database: Database, venue: Venue, email: EmailAddress) -> None:
    store, name = PostgresForgetting(database, ADDRESSES), pseudonym(uuid4())
    while not store.forget_some(venue.organization_id, email, name, ORIGIN).is_complete:
        pass


def test_the_integrity_check_is_silent_about_a_buyer_who_was_forgotten(
    world: PostgresWorld, engine: Admission, database: Database, venue: Venue
) -> None:
    """Also between two cancellations of one order, whose facts continue the versions of its
    holds."""
    ann = someone()
    order = bought(engine, venue, venue.these("Stalls A 1", "Stalls A 2"), ("standing", 1), by=ann)
    ask(engine, venue.release(placed(engine, venue.place(("standing", 1), holder=Holder(ann))).id))
    cancelled(engine, venue.cancel(order.id, order.tickets[0].id))
    forget(database, venue, ann)
    assert_sound(world.url)
    cancelled(engine, venue.cancel(order.id))
    assert_sound(world.url)


def read_again(world: PostgresWorld, engine: Admission, database: Database, venue: Venue) -> Hold:
    """A hold as a group locks it that has read it before its buyer was forgotten."""
    ann = someone()
    order = bought(engine, venue, ("standing", 1), by=ann)
    with closing(world.store.connect()) as connection:
        survey = connection.survey(Needs(orders=(order.key,)))
        ((key, hold),) = survey.holds.items()
        assert hold.holder.email == ann
        forget(database, venue, ann)
        wanted = Wanted(frozenset({Resource(ResourceKind.HOLD, *key)}), known=survey.known_holds())
        with connection.group() as group:
            return group.lock_and_read(wanted).holds[key]


def test_a_group_does_not_write_an_address_that_was_forgotten_meanwhile(
    world: PostgresWorld, engine: Admission, database: Database, venue: Venue
) -> None:
    assert read_again(world, engine, database, venue).holder.email is None


def test_control_a_group_that_trusts_what_it_has_read_would_write_it(
    world: PostgresWorld,
    engine: Admission,
    database: Database,
    venue: Venue,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def trusting(self: Reading, locked: Any) -> Iterator[Hold]:
        yield from (self._known[own, hold_id] for own, hold_id, *_ in locked)

    monkeypatch.setattr(Reading, "_locked_holds", trusting)
    assert read_again(world, engine, database, venue).holder.email is not None


def cancelled_beside(engine: Admission, database: Database, venue: Venue) -> Outcome | None:
    """Forget Ann, who is to use a ticket of Bob, and cancel Bob's order before the transaction
    ends. The outcome that does not wait for this end, if there is one."""
    ann, bob = someone(), someone()
    order = bought(engine, venue, ("standing", 1), by=bob, for_=(Attendee("Ann", ann),))
    names: dict[str, Any] = {
        "own": venue.organization_id,
        "keys": ADDRESSES.hashes.address_keys(venue.organization_id, ann),
        "pseudonym": pseudonym(uuid4()),
        "old_key": Holder(ann).key,
        "new_key": uuid4(),
    }
    with database.transaction(venue.organization_id) as connection:
        assert forgetting._forget(connection, names).tickets == 1
        ending = engine.submit(venue.cancel(order.id))
        # The main lane decides this after that, or refuses it with that.
        other = engine.submit(venue.place(("standing", 1), holder=Holder(someone())))
        other.result(PATIENCE_SECONDS)
        outcome = ending.result().outcome if ending.done() else None
    ending.result(PATIENCE_SECONDS)
    assert outcome is not None or isinstance(ending.result().outcome, OrderCancelled)
    return outcome


def test_a_cancellation_waits_in_a_lock_queue_for_an_attendee_who_is_forgotten(
    engine: Admission, database: Database, venue: Venue
) -> None:
    assert cancelled_beside(engine, database, venue) is None


def test_control_without_the_locks_of_the_holds_it_waits_for_the_ticket_in_the_main_lane(
    engine: Admission, database: Database, venue: Venue, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert GUARD in forgetting._GUARDS
    monkeypatch.setattr(forgetting, "_GUARDS", forgetting._GUARDS.replace(GUARD, ""))
    outcome = cancelled_beside(engine, database, venue)
    assert isinstance(outcome, Refusal)
    assert outcome.code is RefusalCode.SERVICE_UNAVAILABLE
