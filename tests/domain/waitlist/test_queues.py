"""The queues of a waitlist: their order, their counts, and who may overtake whom."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID, uuid4

import pytest

from holdfast.domain.catalog.model import Offer, Pool, SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.holds.hold import Hold, HoldStatus, Line, WaitingPlace
from holdfast.domain.ids import (
    EventId,
    HoldId,
    OrganizationId,
    PoolId,
    SessionId,
    SessionKey,
    TicketTypeId,
)
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.values import Holder, Money
from holdfast.domain.waitlist.fairness import Taking, passes
from holdfast.domain.waitlist.queues import LOOK_AHEAD, Waitlist, place_of, queue_id_of, wants_of

NOW = datetime(2030, 1, 15, 10, 20, tzinfo=UTC)
ORGANIZATION, SESSION = OrganizationId(uuid4()), SessionId(uuid4())
POOLS = {name: PoolId(uuid4()) for name in ("house", "adults", "children", "lot")}
DRAWS = {
    "guest": ("house",),
    "adult": ("adults", "house"),
    "child": ("children", "house"),
    "parking": ("lot",),
}
TYPES = {name: TicketTypeId(uuid4()) for name in DRAWS}


def pools_of(ticket_type: str) -> tuple[PoolId, ...]:
    return tuple(POOLS[name] for name in DRAWS[ticket_type])


def a_session(passes_max: int = 0) -> SessionCatalog:
    policy = HoldPolicy(waitlist=True, waiting_passes_max=passes_max)
    offers = {TYPES[name]: Offer(Money(1000, "EUR"), pools_of(name), policy) for name in DRAWS}
    return SessionCatalog(ORGANIZATION, SESSION, 1, "EUR", offers, EventId(uuid4()))


def sessions() -> dict[SessionKey, SessionCatalog]:
    return {(ORGANIZATION, SESSION): a_session()}


def waits(ticket_type: str, quantity: int, second: int, passes_seen: int = 0) -> Hold:
    lines = (Line(TYPES[ticket_type], quantity, 1000, pools_of(ticket_type)),)
    since = NOW + timedelta(seconds=second)
    return Hold(
        organization_id=ORGANIZATION,
        id=HoldId(UUID(int=second)),
        session_id=SESSION,
        reference="ABC234",
        holder=Holder(user_id="user"),
        lines=lines,
        currency="EUR",
        status=HoldStatus.WAITING,
        version=1,
        created_at=since,
        updated_at=since,
        held_at=None,
        expires_at=NOW + timedelta(days=1),
        waiting=WaitingPlace(queue_id_of(pools_of(ticket_type)), since, passes_seen),
    )


def a_waitlist(*holds: Hold) -> Waitlist:
    waitlist = Waitlist((ORGANIZATION, SESSION))
    for hold in holds:
        waitlist.joined(hold, sessions(), NOW)
    return waitlist


def a_ledger(waitlist: Waitlist, totals: Mapping[str, int] | None = None) -> Ledger:
    ledger = Ledger(NOW)
    ledger.sessions[ORGANIZATION, SESSION] = a_session()
    ledger.waitlists[ORGANIZATION, SESSION] = waitlist
    for name, id_ in POOLS.items():
        ledger.pools[id_] = Pool(ORGANIZATION, id_, (totals or {}).get(name, 10))
    return ledger


def taking(ticket_type: str, by: Hold | None = None, **left: int) -> Taking:
    """A taking that leaves these units in each pool."""
    place = None if by is None else place_of(by)
    wants = frozenset(pools_of(ticket_type))
    return Taking(wants, {POOLS[name]: units for name, units in left.items()}, place=place)


def queue_of(waitlist: Waitlist, hold: Hold) -> UUID:
    assert hold.waiting is not None
    assert hold.waiting.queue_id in waitlist.queues
    return hold.waiting.queue_id


def test_the_id_of_a_queue_does_not_depend_on_the_order_of_wants() -> None:
    one, other = POOLS["house"], POOLS["adults"]
    assert queue_id_of([one, other]) == queue_id_of([other, one])
    assert queue_id_of([one, other]) != queue_id_of([one])
    assert wants_of(waits("adult", 1, 1).lines, a_session()) == {one, other}


@pytest.mark.parametrize("seed", range(20))
def test_queues_are_found_by_what_they_want(seed: int) -> None:
    """Compared with a look at all of them, in the waitlist and in a copy that goes its own way."""
    random = Random(seed)
    waitlist, waiting = a_waitlist(), list[Hold]()
    for second in range(1, 40):
        if waiting and random.random() < 0.4:
            waitlist.left(waiting.pop(random.randrange(len(waiting))), is_served=False)
        else:
            waiting.append(waits(random.choice([*DRAWS]), 1, second))
            waitlist.joined(waiting[-1], sessions(), NOW)
        copy = waitlist.copy(is_settled=True)
        copy.joined(waits(random.choice([*DRAWS]), 1, second + 100), sessions(), NOW)
        for each in (waitlist, copy):
            for count in (1, 2, 3):
                wants = frozenset(random.sample([*POOLS.values()], count))
                found = [queue for queue in each.queues.values() if queue.wants & wants]
                assert {queue.id for queue in each.sharing(wants)} == {q.id for q in found}
                assert each.position_at_end(wants) == 1 + sum(q.waiting for q in found)


def test_a_queue_is_ordered_by_arrival_not_by_insertion() -> None:
    late, early, twin = waits("guest", 1, 5), waits("guest", 1, 2), waits("guest", 1, 5)
    twin = replace(twin, id=HoldId(UUID(int=9)))
    waitlist = a_waitlist(late, twin, early)
    (queue,) = waitlist.queues.values()
    assert queue.first == (early, late, twin)
    assert (queue.waiting, queue.is_all_seen) == (3, True)


def test_a_party_is_put_among_those_read_if_the_clock_went_back() -> None:
    first, last, *unread = (waits("guest", 1, second) for second in (1, 5, 6, 7))
    waitlist = a_waitlist(first, last, *unread)
    (queue,) = waitlist.queues.values()
    waitlist.queues[queue.id] = replace(queue, first=(first, last))
    for second, seen in ((8, []), (3, [waits("guest", 1, 3)])):
        waitlist.joined(waits("guest", 1, second), sessions(), NOW)
        assert waitlist.queues[queue.id].first == (first, *seen, last)


def test_a_leaving_party_is_counted_and_an_empty_queue_is_removed() -> None:
    first, second = waits("guest", 1, 1), waits("guest", 1, 2)
    waitlist = a_waitlist(first, second)
    waitlist.left(first, is_served=True)
    (queue,) = waitlist.queues.values()
    assert (queue.first, queue.waiting, queue.served) == ((second,), 1, 1)
    waitlist.left(second, is_served=False)
    assert not waitlist
    assert waitlist.changed == {queue.id}, "it is not deleted"


def test_a_copy_without_a_party_leaves_the_original_unchanged() -> None:
    first, second = waits("guest", 1, 1), waits("guest", 1, 2)
    waitlist = a_waitlist(first, second)
    assert waitlist.without(first).in_order() == [second]
    assert waitlist.in_order() == [first, second]


def test_only_a_few_parties_of_a_queue_are_kept_in_view() -> None:
    waitlist = a_waitlist(*(waits("guest", 1, second) for second in range(LOOK_AHEAD + 3)))
    (queue,) = waitlist.queues.values()
    assert (len(queue.first), queue.waiting, queue.is_all_seen) == (
        LOOK_AHEAD,
        LOOK_AHEAD + 3,
        False,
    )
    waitlist.left(queue.first[0], is_served=True)
    late = waits("guest", 1, 1000)
    waitlist.joined(late, sessions(), NOW)
    (queue,) = waitlist.queues.values()
    assert late not in queue.first, "parties between were not read"


def test_a_position_counts_all_parties_that_share_a_want() -> None:
    waitlist = a_waitlist(waits("adult", 1, 1), waits("adult", 1, 2), waits("parking", 1, 3))
    positions = [
        waitlist.position_at_end(frozenset(pools_of(name)))
        for name in ("adult", "child", "guest", "parking")
    ]
    assert positions == [3, 3, 3, 2]


def test_a_waitlist_is_written_when_it_changed_or_was_settled() -> None:
    waitlist = a_waitlist()
    assert not waitlist.is_dirty()
    waitlist.is_settled = False
    assert waitlist.is_dirty()
    unsettled = Waitlist((ORGANIZATION, SESSION), is_settled=False)
    assert not unsettled.is_dirty()
    unsettled.is_settled = True
    assert unsettled.is_dirty()
    assert a_waitlist(waits("guest", 1, 1)).is_dirty()


FIRST = waits("adult", 3, 1)


@pytest.mark.parametrize(
    ("wish", "is_free"),
    [
        (taking("parking", lot=0), True),
        (taking("adult", adults=9, house=9), False),
        (taking("child", children=0, house=3), True),
        (taking("child", children=9, house=2), False),
        (taking("guest", house=3), True),
        (taking("guest", house=0), False),
        (taking("guest", waits("guest", 1, 0), house=0), True),
        (taking("guest", waits("guest", 1, 2), house=2), False),
        (taking("adult", FIRST, adults=0, house=0), True),
    ],
    ids=[
        "another pool",
        "the same queue, with enough left",
        "a shared pool with enough left",
        "a shared pool with too little left",
        "only the shared pool, with enough left",
        "only the shared pool, with too little left",
        "an earlier party",
        "a later party",
        "the first party itself",
    ],
)
def test_a_taker_must_leave_the_first_of_each_earlier_queue_its_needs(
    wish: Taking, is_free: bool
) -> None:
    ledger = a_ledger(a_waitlist(FIRST, waits("adult", 9, 5)))
    assert passes(ledger, a_session(), wish) == (() if is_free else None)


def test_the_claims_of_several_queues_add_up() -> None:
    ledger = a_ledger(a_waitlist(waits("adult", 2, 1), waits("child", 2, 2)))
    assert passes(ledger, a_session(), taking("guest", house=4)) == ()
    assert passes(ledger, a_session(), taking("guest", house=3)) is None


def test_a_party_that_can_never_be_served_has_no_claim() -> None:
    large = waits("adult", 9, 1)
    wish = taking("guest", house=0)
    assert passes(a_ledger(a_waitlist(large)), a_session(), wish) is None
    small_house = a_ledger(a_waitlist(large), {"house": 8})
    assert passes(small_house, a_session(), wish) == ()


@pytest.mark.parametrize(
    ("so_far", "seen", "allowed", "may_pass"),
    [(0, 0, 0, False), (0, 0, 1, True), (1, 0, 1, False), (4, 3, 2, True), (5, 3, 2, False)],
)
def test_the_overtake_limit_counts_since_a_party_joined(
    so_far: int, seen: int, allowed: int, may_pass: bool
) -> None:
    first = waits("adult", 3, 1, passes_seen=seen)
    waitlist = a_waitlist(first)
    for _ in range(so_far - seen):
        waitlist.passed([queue_of(waitlist, first)])
    found = passes(a_ledger(waitlist), a_session(allowed), taking("guest", house=0))
    assert found == ((queue_of(waitlist, first),) if may_pass else None)


def test_in_an_unsettled_waitlist_newcomers_wait_and_waiting_parties_are_served() -> None:
    first, second = waits("adult", 1, 1), waits("guest", 1, 2)
    waitlist = a_waitlist(first, second)
    waitlist.is_settled = False
    ledger = a_ledger(waitlist)
    assert passes(ledger, a_session(5), taking("guest", house=9)) is None
    assert passes(ledger, a_session(5), taking("guest", second, house=9)) == ()
    unseen = a_waitlist(first)
    unseen.queues = {id_: replace(queue, first=()) for id_, queue in unseen.queues.items()}
    assert passes(a_ledger(unseen), a_session(5), taking("guest", house=9)) is None
