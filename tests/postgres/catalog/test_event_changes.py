"""Changing an event works with any number of sessions, and no hold is committed on the old terms
after the answer."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
import pytest

from holdfast.adapters.postgres.catalog import decision_barrier, statements
from holdfast.adapters.postgres.catalog import store as catalog_module
from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.engine.group import advisory_name
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.catalog.changes import ChangeEvent, SaleChange
from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.domain.group.outcomes import Placed
from holdfast.domain.ids import EventId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.engine import Admission
from holdfast.ports.catalog import CatalogAnswer
from holdfast.ports.store import StoreError
from tests.contract.asking import ask, placed, waiting
from tests.contract.venues import ORIGIN, STRANGER, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.postgres.rounds import Rounds
from tests.support.patience import PATIENCE_SECONDS, PATIENT

# More than PostgreSQL has room for locks.
MANY_SESSIONS = 20_000


@dataclass
class Box:
    """Changes the event of a venue."""

    world: PostgresWorld
    database: Database

    def event_id(self, venue: Venue) -> EventId:
        ((id_,),) = self.world._rows("SELECT event_id FROM session WHERE id = %s", venue.session_id)
        return EventId(id_)

    def add_sessions(self, venue: Venue, count: int) -> None:
        with psycopg.connect(self.world.url) as owner:
            owner.execute(
                "INSERT INTO session (organization_id, id, event_id, name)"
                " SELECT %s, gen_random_uuid(), %s, 'Departure ' || n"
                " FROM generate_series(1, %s) n",
                [venue.organization_id, self.event_id(venue), count],
            )

    def cancel(self, venue: Venue) -> CatalogAnswer:
        return self.become(venue, EventStatus.CANCELLED)

    def become(self, venue: Venue, status: EventStatus) -> CatalogAnswer:
        sale = SaleChange(status=status)
        change = ChangeEvent(venue.organization_id, self.event_id(venue), sale=sale)
        return PostgresCatalog(self.database).apply(change, ORIGIN, None, lambda _: b"")

    def is_cancelled(self, venue: Venue) -> bool:
        ((status,),) = self.world._rows(
            "SELECT status FROM event WHERE id = %s", self.event_id(venue)
        )
        return bool(status == "cancelled")


@contextmanager
def box_at(url: str) -> Iterator[Box]:
    world, database = PostgresWorld(url), Database(url)
    database.open()
    yield Box(world, database)
    database.close()
    world.close()


@pytest.fixture
def box(quiet_database_url: str) -> Iterator[Box]:
    with box_at(quiet_database_url) as box:
        yield box


@contextmanager
def running_at(box: Box) -> Iterator[Admission]:
    engine = Admission(box.world.store, PATIENT)
    engine.start()
    yield engine
    engine.stop()


@pytest.fixture
def engine(box: Box) -> Iterator[Admission]:
    with running_at(box) as engine:
        yield engine


def becomes(condition: Callable[[], bool]) -> bool:
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > give_up_at:
            return False
        time.sleep(0.005)
    return True


def test_an_event_of_twenty_thousand_sessions_can_be_cancelled(fresh_database_url: str) -> None:
    """In its own database, where so many rows disturb nobody."""
    with box_at(fresh_database_url) as box, running_at(box) as engine:
        venue = box.world.venue({"floor": 10}, {"standing": ("floor",)})
        box.add_sessions(venue, MANY_SESSIONS)
        assert isinstance(ask(engine, venue.place(("standing", 1))), Placed)
        assert not isinstance(box.cancel(venue).outcome, Refusal)
        outcome = ask(engine, venue.place(("standing", 1)))
    assert isinstance(outcome, Refusal)
    assert outcome.code is RefusalCode.EVENT_UNAVAILABLE


def test_control_without_a_new_version_the_engine_keeps_selling(
    box: Box, engine: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = statements.RAISE_VERSIONS_OF_EVENT + " AND false"
    monkeypatch.setattr(statements, "RAISE_VERSIONS_OF_EVENT", silent)
    venue = box.world.venue({"floor": 10}, {"standing": ("floor",)})
    assert isinstance(ask(engine, venue.place(("standing", 1))), Placed)
    box.cancel(venue)
    assert isinstance(ask(engine, venue.place(("standing", 1))), Placed)


def cancelled_during_a_group(box: Box, rounds: Rounds, looks: list[int]) -> bool:
    """Whether the answer came while a group that read the old terms was still open."""
    answers: list[CatalogAnswer] = []
    thread = threading.Thread(target=lambda: answers.append(box.cancel(rounds.venue)))
    with rounds.round() as current:
        thread.start()
        assert becomes(lambda: box.is_cancelled(rounds.venue))
        assert becomes(lambda: bool(answers) or len(looks) > 2)
        came_early = bool(answers)
        current.place()
        current.commit()
    thread.join(PATIENCE_SECONDS)
    assert answers
    assert not isinstance(answers[0].outcome, Refusal)
    return came_early


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each check for groups that are still deciding."""
    looked: list[int] = []
    look = decision_barrier.groups_deciding

    def counted(*arguments: object) -> set[str]:
        found = look(*arguments)  # type: ignore[arg-type]
        looked.append(len(found))
        return found

    monkeypatch.setattr(decision_barrier, "groups_deciding", counted)
    return looked


def test_no_hold_is_committed_on_the_old_terms_after_the_answer(
    box: Box, rounds: Rounds, looks: list[int]
) -> None:
    assert not cancelled_during_a_group(box, rounds, looks)


def test_control_without_waiting_for_groups_the_answer_comes_too_early(
    box: Box, rounds: Rounds, looks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_module, "await_decisions", lambda *_: None)
    assert cancelled_during_a_group(box, rounds, looks)


def test_waiting_for_an_open_group_is_bounded(
    box: Box, rounds: Rounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change is kept, and the caller must retry; the retry succeeds."""
    monkeypatch.setattr(decision_barrier, "DECISIONS_SECONDS_MAX", 0.01)
    with rounds.round() as current:
        with pytest.raises(StoreError):
            box.cancel(rounds.venue)
        assert box.is_cancelled(rounds.venue)
        with pytest.raises(StoreError):
            box.cancel(rounds.venue)
        current.commit()
    assert not isinstance(box.cancel(rounds.venue).outcome, Refusal)


def test_groups_of_other_events_do_not_delay_the_answer(box: Box, rounds: Rounds) -> None:
    other = box.world.venue({"floor": 10}, {"standing": ("floor",)})
    with rounds.round() as current:
        assert not isinstance(box.cancel(other).outcome, Refusal)
        current.commit()


def sold_out_with_waitlist(box: Box, engine: Admission) -> Venue:
    """A sold-out venue with a party on the waitlist."""
    policy = HoldPolicy(waitlist=True)
    venue = box.world.build(Plan({"floor": 1}, {"standing": ("floor",)}, policy))
    placed(engine, venue.place(("standing", 1)))
    waiting(engine, venue.place(("standing", 1), holder=STRANGER))
    return venue


def version_of(box: Box, venue: Venue) -> int:
    ((version,),) = box.world._rows("SELECT version FROM session WHERE id = %s", venue.session_id)
    return int(version)


def test_sessions_cached_while_a_party_joined_are_read_again(box: Box, engine: Admission) -> None:
    """The first party of a waitlist raises no version. Sessions cached before it joined must be
    read again once every group that could have admitted it has ended."""
    venue = sold_out_with_waitlist(box, engine)
    before = version_of(box, venue)
    assert not isinstance(box.become(venue, EventStatus.LIVE).outcome, Refusal)
    assert version_of(box, venue) == before + 2


def test_a_change_of_an_event_waits_for_no_change_of_its_sessions(
    box: Box, engine: Admission
) -> None:
    """Seats may be imported into one of them meanwhile, which takes seconds."""
    venue = sold_out_with_waitlist(box, engine)
    session = Resource(ResourceKind.SESSION, venue.organization_id, venue.session_id)
    with psycopg.connect(box.world.url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [advisory_name(session)])
        answer = box.cancel(venue)
    assert not isinstance(answer.outcome, Refusal)
    assert answer.unsettled == (venue.session_id,)
