"""Queues in memory: a group uses them only while nobody else has changed the waitlist."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from random import Random

import psycopg
import pytest

from holdfast.adapters.postgres.connections.connection import OWNER_AT_WORK
from holdfast.adapters.postgres.connections.pipeline import Statements
from holdfast.adapters.postgres.waitlist import cache as cache_module
from holdfast.adapters.postgres.waitlist import statements
from holdfast.adapters.postgres.waitlist.cache import KeptWaitlist, WaitlistCache
from holdfast.adapters.postgres.waitlist.rows import QueueQueries
from holdfast.domain.group.footprint import Needs
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import SessionKey
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.waitlist.queues import LOOK_AHEAD, Waitlist, queue_id_of
from holdfast.ports.privacy.addresses import Addresses
from holdfast.ports.store import CommitState, CommitUnknown, Rejected
from tests.contract.venues import Plan
from tests.contract.worlds import PostgresWorld
from tests.faults.proxy import Fault, Proxy
from tests.postgres.rounds import Round, Rounds

POOLS = ("floor", "balcony")


def wait(rounds: Rounds, *pools: str, count: int = 1) -> list[Hold]:
    with rounds.round() as only:
        holds = [
            only.place(only.line(1, *pools), since=only.now + timedelta(microseconds=number))
            for number in range(count)
        ]
        only.commit()
    return holds


@contextmanager
def waitlist_of(rounds: Rounds) -> Iterator[Waitlist]:
    with rounds.round() as within:
        yield within.ledger.waitlists[rounds.session_key]


def assert_is_current(rounds: Rounds) -> None:
    """The queues seen here are those that a new process reads; perhaps with more parties."""
    with waitlist_of(rounds) as waitlist:
        seen = dict(waitlist.queues)
    with rounds.in_another_process() as other, waitlist_of(other) as waitlist:
        read = dict(waitlist.queues)
    assert seen.keys() == read.keys()
    for id_, queue in read.items():
        mine = seen[id_]
        assert mine.first[: len(queue.first)] == queue.first
        assert replace(mine, first=()) == replace(queue, first=())


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[list[SessionKey]]:
    """The sessions whose queues were read, all of them."""
    read: list[list[SessionKey]] = []

    def recorded(
        connection: Statements, keys: list[SessionKey], addresses: Addresses
    ) -> QueueQueries:
        read.append(keys)
        return QueueQueries(connection, keys, addresses)

    monkeypatch.setattr(cache_module, "QueueQueries", recorded)
    return read


def test_a_process_reads_the_queues_once(rounds: Rounds, reads: list[list[SessionKey]]) -> None:
    for pools in (POOLS[:1], POOLS, POOLS[1:]):
        wait(rounds, *pools)
    assert len(reads) == 1
    with rounds.round() as within:
        assert len(within.ledger.waitlists[rounds.session_key].queues) == 3
    assert len(reads) == 1, "a group that writes nothing keeps what it found"
    assert_is_current(rounds)


def join(within: Round, _: Hold) -> None:
    within.place(within.line(1, *POOLS), since=within.now)


def release(within: Round, hold: Hold) -> None:
    within.release(hold)


def promote(within: Round, hold: Hold) -> None:
    within.promote(hold)


def move_back(within: Round, hold: Hold) -> None:
    within.move_back(hold)


def change(within: Round, hold: Hold) -> None:
    within.change(hold, (), hold.lines[0])


def overtake(within: Round, hold: Hold) -> None:
    assert hold.waiting is not None
    within.ledger.waitlists[hold.session_key].passed([hold.waiting.queue_id])


Action = Callable[[Round, Hold], None]
ACTIONS: tuple[Action, ...] = (join, release, promote, move_back, change, overtake)


@pytest.mark.parametrize("act", ACTIONS)
def test_a_change_by_another_process_is_noticed(rounds: Rounds, act: Action) -> None:
    first, *_ = wait(rounds, "floor", count=3)
    with rounds.in_another_process() as other, other.round(first) as within:
        act(within, first)
        within.commit()
    assert_is_current(rounds)
    wait(rounds, "floor")
    assert_is_current(rounds)


@pytest.mark.parametrize("act", ACTIONS)
def test_control_without_versions_it_is_not(
    rounds: Rounds, act: Action, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *_ = wait(rounds, "floor", count=3)
    same = statements.UPDATE_WAITLISTS.replace("changed.version", "waitlist.version", 1)
    monkeypatch.setattr(statements, "UPDATE_WAITLISTS", same)
    with rounds.in_another_process() as other, other.round(first) as within:
        act(within, first)
        within.commit()
    with pytest.raises(AssertionError):
        assert_is_current(rounds)


def test_a_busy_neighbour_is_read_after_without_a_second_round_trip(
    rounds: Rounds, reads: list[list[SessionKey]]
) -> None:
    """Once another process has changed the queues, they are read together with the lock, until this
    one has changed them twice in a row."""
    wait(rounds, "floor")
    with rounds.in_another_process() as other:
        wait(other, "floor")
        is_contested = []
        reads.clear()
        for _ in range(3):
            wait(rounds, "floor")
            kept = rounds.world.store.memories.waitlists.get(rounds.session_key)
            assert kept is not None
            is_contested.append(kept.is_contested)
    assert (len(reads), is_contested) == (2, [True, False, False])


def promote_and_join(rounds: Rounds, first: Hold, *, is_repeated: bool = False) -> None:
    with rounds.round() as within:
        within.promote(first)
        within.place(within.line(1, *POOLS), since=within.now)
        if is_repeated:
            within.apply(None, first)  # its id is taken
        within.commit()


def test_a_refused_group_leaves_no_trace(rounds: Rounds) -> None:
    first, _ = wait(rounds, "floor", count=2)
    with pytest.raises(Rejected):
        promote_and_join(rounds, first, is_repeated=True)
    assert_is_current(rounds)


@pytest.mark.parametrize(
    "fault", [Fault.CUT_BEFORE_COMMIT, Fault.CUT_IN_COMMIT, Fault.SWALLOW_ANSWER]
)
def test_a_commit_of_unknown_outcome_is_seen_as_it_turned_out(rounds: Rounds, fault: Fault) -> None:
    proxy = Proxy(rounds.world.url)
    far = Rounds(PostgresWorld(proxy.url), rounds.venue)
    first, *_ = wait(far, "floor", count=3)
    proxy.fault_next(fault)
    with pytest.raises(CommitUnknown) as lost:
        promote_and_join(far, first)
    assert far.connection.resolve(lost.value.token) is not CommitState.UNKNOWN
    assert_is_current(far)
    far.close()
    proxy.close()


BY_HAND = "UPDATE waiting_line SET passes = passes + 1 WHERE session_id = %s"


def passes_by_hand(rounds: Rounds) -> None:
    """As a server does that knows nothing of versions, because it is not upgraded yet."""
    with psycopg.connect(rounds.world.url) as owner:
        owner.execute(OWNER_AT_WORK)
        owner.execute(BY_HAND, [rounds.venue.session_id])


def test_a_server_that_is_not_upgraded_yet_is_noticed(rounds: Rounds) -> None:
    wait(rounds, "floor")
    passes_by_hand(rounds)
    assert_is_current(rounds)


def test_control_without_the_trigger_it_is_not(rounds: Rounds) -> None:
    wait(rounds, "floor")
    with psycopg.connect(rounds.world.url) as owner:
        owner.execute("ALTER TABLE waiting_line DISABLE TRIGGER waitlist_has_another_version")
    passes_by_hand(rounds)
    with psycopg.connect(rounds.world.url) as owner:
        owner.execute("ALTER TABLE waiting_line ENABLE TRIGGER waitlist_has_another_version")
    with pytest.raises(AssertionError):
        assert_is_current(rounds)


def test_more_parties_are_read_when_the_first_have_left(
    rounds: Rounds, reads: list[list[SessionKey]]
) -> None:
    holds = wait(rounds, "floor", count=LOOK_AHEAD + 6)
    wait(rounds, *POOLS)
    reads.clear()
    share = LOOK_AHEAD // 2
    for start in range(0, len(holds), share):
        leaving = holds[start : start + share]
        with rounds.round() as within:
            assert [hold for hold in leaving if within.promote(hold)] == leaving
            within.commit()
        with waitlist_of(rounds) as waitlist:
            assert all(queue.first for queue in waitlist.queues.values())
            assert sum(len(queue.first) for queue in waitlist.queues.values()) <= LOOK_AHEAD
        assert_is_current(rounds)
    assert {keys[0] for keys in reads} == {rounds.session_key}
    assert len(reads) == (len(holds) + share - 1) // share, "only by the other processes"


def test_lanes_share_the_queues(rounds: Rounds, reads: list[list[SessionKey]]) -> None:
    lanes = [rounds, Rounds(rounds.world, rounds.venue)]
    for number in range(6):
        wait(lanes[number % 2], POOLS[number % 2])
    assert len(reads) == 1
    for lane in lanes:
        assert_is_current(lane)
    lanes[1].close()


def test_the_survey_uses_the_queues_in_memory_while_they_are_current(
    rounds: Rounds, reads: list[list[SessionKey]]
) -> None:
    plan = Plan(dict.fromkeys(POOLS, 100), {"standing": ("floor",)}, HoldPolicy(waitlist=True))
    rounds.venue = rounds.world.build(plan)
    needs = Needs(waitlists=frozenset({rounds.session_key}))
    holds = wait(rounds, "floor", count=2)
    reads.clear()
    assert rounds.connection.survey(needs).waitlists[rounds.session_key].in_order() == holds
    assert not reads
    with rounds.in_another_process() as other:
        holds += wait(other, "floor")
    for _ in range(2):
        assert rounds.connection.survey(needs).waitlists[rounds.session_key].in_order() == holds


@pytest.mark.parametrize("seed", range(5))
def test_processes_lanes_and_failures_in_any_order(rounds: Rounds, seed: int) -> None:
    random = Random(seed)
    waiting: dict[object, Hold] = {}
    with ExitStack() as stack:
        other = stack.enter_context(rounds.in_another_process())
        sides = [rounds, Rounds(rounds.world, rounds.venue), other]
        for _ in range(25):
            side, act = random.choice(sides), random.choice(ACTIONS)
            if len(waiting) < 4:
                hold = wait(side, *random.choice([POOLS, POOLS[:1], POOLS[1:]]))[0]
                waiting[hold.id] = hold
                continue
            hold = random.choice([*waiting.values()])
            with side.round(hold) as within:
                act(within, hold)
                if random.random() < 0.7:
                    within.commit()
                    waiting |= {each.after.id: each.after for each in within.transitions}
                    waiting = {id_: each for id_, each in waiting.items() if each.waiting}
            assert_is_current(random.choice(sides))
        sides[1].close()


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch, rounds: Rounds) -> None:
    monkeypatch.setattr(cache_module, "KEPT_MAX", 3 * (LOOK_AHEAD + 1))
    first, *venues = [
        rounds.venue,
        *(rounds.world.venue({"floor": 9}, {"standing": ("floor",)}) for _ in range(3)),
    ]
    for venue in (first, *venues):
        rounds.venue = venue
        wait(rounds, "floor")
    cache: WaitlistCache = rounds.world.store.memories.waitlists
    keys = [(venue.organization_id, venue.session_id) for venue in (first, *venues)]
    kept: list[KeptWaitlist | None] = [cache.get(key) for key in keys]
    assert [each is not None for each in kept] == [False, True, True, True]


def test_a_long_queue_is_not_kept_in_full(rounds: Rounds) -> None:
    """A group that adds many parties to several queues knows them all."""
    with rounds.round() as only:
        for number in range(LOOK_AHEAD):
            since = only.now + timedelta(microseconds=number)
            only.place(only.line(1), since=since)
            only.place(only.line(1, *POOLS), since=since)
        only.commit()
    with waitlist_of(rounds) as waitlist:
        assert [len(queue.first) for queue in waitlist.queues.values()] == [LOOK_AHEAD // 2] * 2
    assert_is_current(rounds)


def seen_with(rounds: Rounds, count: int) -> int:
    """How many parties of the queue a group sees that asks for this many."""
    queue_id = queue_id_of({rounds.venue.pools["floor"]})
    parties = {(rounds.session_key, queue_id): count}
    with rounds.connection.group() as group:
        ledger = group.lock_and_read(replace(rounds.wanted(), parties=parties))
        return len(ledger.waitlists[rounds.session_key].queues[queue_id].first)


def test_more_parties_are_read_for_a_group_that_asks(
    rounds: Rounds, reads: list[list[SessionKey]]
) -> None:
    """They stay in memory while this process changes the queues, and are read again if another
    process has changed them."""
    first, *others = wait(rounds, "floor", count=LOOK_AHEAD + 6)
    assert seen_with(rounds, LOOK_AHEAD + 2) == LOOK_AHEAD + 2
    assert seen_with(rounds, 1) == LOOK_AHEAD + 2
    with rounds.round(first) as within:
        within.release(first)
        within.commit()
    assert_is_current(rounds)
    reads.clear()
    assert seen_with(rounds, 1) == LOOK_AHEAD + 1
    assert not reads
    with rounds.in_another_process() as other, other.round(others[0]) as within:
        within.release(others[0])
        within.commit()
    assert seen_with(rounds, LOOK_AHEAD + 2) == LOOK_AHEAD + 2
    assert seen_with(rounds, 2 * LOOK_AHEAD) == LOOK_AHEAD + 4
    assert_is_current(rounds)


def test_parties_of_a_queue_that_has_ended_are_not_read(rounds: Rounds) -> None:
    (only,) = wait(rounds, "floor")
    wait(rounds, *POOLS)
    with rounds.in_another_process() as other, other.round(only) as within:
        within.release(only)
        within.commit()
    with pytest.raises(KeyError):
        seen_with(rounds, LOOK_AHEAD)
    assert_is_current(rounds)
