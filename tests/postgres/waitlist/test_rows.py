"""Rows of the waitlist: places, queues, and their locks."""

from contextlib import ExitStack
from datetime import timedelta
from typing import NoReturn
from uuid import uuid4

import psycopg
import pytest

from holdfast.adapters.postgres.connections.connection import Link
from holdfast.adapters.postgres.engine.group import PostgresGroup
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.adapters.postgres.waitlist import rows as row_module
from holdfast.domain.group.footprint import Holding, Needs, ResourceKind
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.holdings import NOTHING_HELD, Holdings, live_hold
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.values import EmailAddress, Holder
from holdfast.ports.store import StoreUnavailable, Wanted
from tests.contract.venues import BUYER, STRANGER, Plan
from tests.postgres.rounds import Rounds

USER = Holder(EmailAddress("buyer@example.com"), "user-1")


def three_waiting(rounds: Rounds) -> list[Hold]:
    """Two parties for the floor, and between them one for floor and balcony."""
    with rounds.round() as only:
        start = only.now
        holds = [
            only.place(only.line(2), since=start),
            only.place(only.line(1, "floor", "balcony"), since=start + timedelta(seconds=1)),
            only.place(only.line(3), since=start + timedelta(seconds=2)),
        ]
        only.commit()
    return holds


def places_of(rounds: Rounds) -> int:
    with psycopg.connect(rounds.world.url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM waiting_place WHERE session_id = %s", [rounds.venue.session_id]
        ).fetchone()
    assert row is not None
    return int(row[0])


def test_queues_are_read_back_unchanged(rounds: Rounds) -> None:
    first, both, last = three_waiting(rounds)
    with rounds.round() as after:
        waitlist = after.ledger.waitlists[rounds.session_key]
        assert waitlist.in_order() == [first, both, last]
        assert {queue.wants: queue.waiting for queue in waitlist.queues.values()} == {
            frozenset(first.lines[0].pool_ids): 2,
            frozenset(both.lines[0].pool_ids): 1,
        }
        assert waitlist.is_settled
        assert not waitlist.changed
    assert rounds.world.pool(rounds.venue.pools["floor"]).held == 0


def test_a_limited_number_of_parties_of_each_queue_is_read(
    rounds: Rounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, both, _ = three_waiting(rounds)
    monkeypatch.setattr(row_module, "LOOK_AHEAD", 3)
    with rounds.in_another_process() as other, other.round() as after:
        waitlist = after.ledger.waitlists[rounds.session_key]
        assert waitlist.in_order() == [first, both]
        assert sum(queue.waiting for queue in waitlist.queues.values()) == 3


def test_a_promoted_hold_occupies_places_and_leaves_its_queue(rounds: Rounds) -> None:
    first, _, last = three_waiting(rounds)
    with rounds.round(first) as within:
        promoted = within.promote(first)
        within.commit()
    assert rounds.world.hold(rounds.venue, first.id) == promoted
    assert rounds.world.pool(rounds.venue.pools["floor"]).held == 2
    assert places_of(rounds) == 2
    with rounds.round() as after:
        assert first.waiting is not None
        queue = after.ledger.waitlists[rounds.session_key].queues[first.waiting.queue_id]
        assert (queue.waiting, queue.served, queue.first) == (1, 1, (last,))


def test_an_empty_queue_is_removed_and_can_reopen_in_the_same_group(rounds: Rounds) -> None:
    with rounds.round() as before:
        hold = before.place(since=before.now)
        before.commit()
    with rounds.round(hold) as within:
        within.promote(hold)
        other = within.place(since=within.now)
        within.commit()
    with rounds.round(other) as after:
        (queue,) = after.ledger.waitlists[rounds.session_key].queues.values()
        assert (queue.waiting, queue.served, queue.opened_at) == (1, 0, other.created_at)
        after.release(other)
        after.commit()
    with rounds.round() as last:
        assert not last.ledger.waitlists[rounds.session_key]
    assert places_of(rounds) == 0


def test_a_hold_that_moves_in_its_queue_has_one_place(rounds: Rounds) -> None:
    first, both, last = three_waiting(rounds)
    with rounds.round(first) as within:
        moved = within.move_back(within.move_back(within.move_back(first)))
        within.commit()
    assert places_of(rounds) == 3
    with rounds.round() as after:
        assert after.ledger.waitlists[rounds.session_key].in_order() == [both, last, moved]


def test_the_settled_flag_is_written_on_its_own(rounds: Rounds) -> None:
    database = Database(rounds.world.url)
    database.open()
    holds = PostgresHolds(database)
    three_waiting(rounds)
    for is_settled in (False, True):
        with rounds.round() as within:
            waitlist = within.ledger.waitlists[rounds.session_key]
            assert waitlist.is_settled is not is_settled
            waitlist.is_settled = is_settled
            within.commit()
        assert (rounds.session_key not in holds.unsettled_sessions(1000)) is is_settled
    database.close()


def test_a_waitlist_locked_elsewhere_is_skipped(rounds: Rounds) -> None:
    waitlist = rounds.resource(ResourceKind.WAITLIST, rounds.venue.session_id)
    with rounds.round() as first:
        other = rounds.world.store.connect()
        with other.group() as group:
            ledger = group.lock_and_read(rounds.wanted())
            assert waitlist in ledger.skipped
            assert not ledger.waitlists
        other.close()
        assert waitlist not in first.ledger.skipped


@pytest.mark.parametrize("holder", [BUYER, USER])
def test_active_and_waiting_holds_of_a_person_are_counted(rounds: Rounds, holder: Holder) -> None:
    """Together with other people's, and even if somebody is listed twice."""
    with rounds.round() as only:
        mine = [only.place(holder=holder, since=only.now) for _ in range(50)]
        mine += [only.place(holder=holder) for _ in range(3)]
        only.release(mine.pop())
        only.place(holder=STRANGER)
        only.commit()
    nobody = Holder(EmailAddress("nobody@example.com"))
    holdings = [Holding(rounds.session_key, each) for each in (holder, nobody, holder)]
    with rounds.connection.group() as group:
        ledger = group.lock_and_read(Wanted(rounds.wanted().resources, holdings=holdings))
    assert ledger.holdings[holdings[0].key] == Holdings({each.id: live_hold(each) for each in mine})
    assert ledger.holdings[holdings[1].key] == NOTHING_HELD


def test_the_survey_reads_the_waitlist_where_places_may_be_freed(rounds: Rounds) -> None:
    nobody_yet = rounds.connection.survey(Needs(waitlists=frozenset({rounds.session_key})))
    assert nobody_yet.waitlists == {}, "the waitlist is empty"
    holds = three_waiting(rounds)
    with psycopg.connect(rounds.world.url) as owner:
        owner.execute(
            "UPDATE session SET version = version + 1 WHERE id = %s", [rounds.venue.session_id]
        )
    with rounds.round():
        pass  # the new version and the waiting party are noticed
    survey = rounds.connection.survey(Needs(holds=frozenset({holds[0].key})))
    assert survey.waitlists[rounds.session_key].in_order() == holds
    assert survey.busy_waitlists == {rounds.session_key}


def test_a_cached_session_is_not_read_again_though_people_may_wait(
    rounds: Rounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = HoldPolicy(waitlist=True)
    pools = {"floor": 100, "balcony": 100}
    rounds.venue = rounds.world.build(Plan(pools, {"standing": ("floor",)}, policy))
    three_waiting(rounds)
    command = rounds.venue.place(("standing", 1))
    needs = Needs(sessions=frozenset({rounds.session_key}), wishes=(command.wish,))
    seen = rounds.connection.survey(needs)

    def nobody_answers(_: Link) -> NoReturn:
        raise StoreUnavailable("it was asked")

    monkeypatch.setattr(Link, "exchange", nobody_answers)
    assert rounds.connection.survey(needs) == seen
    assert seen.busy_waitlists == {rounds.session_key}
    with pytest.raises(StoreUnavailable):
        rounds.connection.survey(Needs(waitlists=frozenset({rounds.session_key})))


@pytest.mark.parametrize("is_in_memory", [False, True])
def test_facts_of_a_promoted_hold_never_precede_its_earlier_facts(
    rounds: Rounds, is_in_memory: bool
) -> None:
    """Waiting holds are not locked themselves; their waitlist is. A group may have got its number
    before one with a lower number, and wrote its facts further ahead."""
    with rounds.round() as only:
        assert isinstance(only.group, PostgresGroup)
        only.group.position += 50
        ahead = only.group.position
        first = only.place(since=only.now)
        only.commit()
    with ExitStack() as stack:
        other = rounds if is_in_memory else stack.enter_context(rounds.in_another_process())
        with other.round() as within:
            within.promote(first)
            within.commit()
    with psycopg.connect(rounds.world.url) as owner:
        position_of_fact = owner.execute(
            "SELECT xid::text::bigint FROM outbox WHERE hold_id = %s AND version = 2", [first.id]
        ).fetchone()
    assert position_of_fact == (ahead,)


def test_positions_count_earlier_parties_that_share_a_want(rounds: Rounds) -> None:
    first, both, last = three_waiting(rounds)
    with rounds.round() as only:
        apart = only.place(only.line(1, "balcony"), since=first.created_at)
        only.commit()
    database = Database(rounds.world.url)
    database.open()
    holds, organization_id = PostgresHolds(database), rounds.venue.organization_id
    seen = [holds.waiting_position(organization_id, hold.id) for hold in (first, both, last, apart)]
    nobody = holds.waiting_position(organization_id, HoldId(uuid4()))
    sessions = holds.waiting_sessions(None, 1000)
    after = holds.waiting_sessions(rounds.session_key, 1000)
    database.close()
    assert [(each.position, each.waiting) for each in seen if each] == [
        (1, 3),
        (3, 4),
        (3, 3),
        (1, 2),
    ]
    assert nobody is None
    assert all(each is not None and each.estimate_seconds is None for each in seen)
    assert rounds.session_key in sessions
    assert list(sessions) == sorted(sessions)
    assert after == tuple(key for key in sessions if key > rounds.session_key)
