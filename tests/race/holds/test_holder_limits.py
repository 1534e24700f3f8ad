"""One holder against the limits per holder, over two engines and over two server processes. Each
race has a control: without the lock of the holder, the limit is exceeded."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from holdfast.adapters.embedded import EmbeddedValkey
from holdfast.adapters.postgres.engine.group import PostgresGroup
from holdfast.domain.group.command import Command
from holdfast.domain.group.footprint import ResourceKind
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import Extended, Outcome, Placed, Waiting
from holdfast.domain.holds.holdings import LiveHold
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import HoldPolicy, PolicyOverride, nearest_policy
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.store import GroupWrites
from tests.contract.venues import STRANGER, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.race.guards import TwoEngines, slowly, unlocked, without
from tests.race.last_moment import set_ends
from tests.support.auditing import assert_sound
from tests.support.crowds import Crowd, Reply
from tests.support.databases import DatabaseFactory
from tests.support.platform import Platform, Sale, new_platform
from tests.support.servers import RunningServer

REQUESTS = 1000
CONTROL_REQUESTS = 200
CONTROL_TRIES_MAX = 20
ANSWER_SECONDS = 60
UNLIMITED = Path(__file__).parents[1] / "unlimited"
TWO_PROCESSES = {"HOLDFAST_PROCESSES": "2", "HOLDFAST_LOG_LEVEL": "warning"}
# Different pools, whose locks would hide the damage.
TYPES = tuple(str(number) for number in range(16))
LIMITS = {"holder_units_max": 7, "holder_holds_max": 5, "holder_carts_max": 3}

# What the holder has in the event: tickets held or bought, live holds, live carts.
HELD = """
SELECT coalesce(sum(quantity) FILTER (WHERE status IN ('active', 'converted')), 0)::integer,
    count(*) FILTER (WHERE status = 'active'),
    count(*) FILTER (WHERE status = 'active' AND is_cart)
FROM hold WHERE organization_id = %s
"""


def two_nights(world: PostgresWorld, limit: str) -> list[Venue]:
    policy = nearest_policy(PolicyOverride(**{limit: LIMITS[limit]}))
    plan = Plan(dict.fromkeys(TYPES, 10_000), {name: (name,) for name in TYPES}, policy)
    first = world.build(plan)
    return [first, world.build(plan, beside=first)]


def asks(nights: list[Venue], count: int) -> Iterator[Command]:
    """Holds and carts of one holder, for both nights and all pools."""
    for number in range(count):
        venue, ask = nights[number % 2], (TYPES[number // 2 % len(TYPES)], 1)
        is_cart = number % 3 == 0
        yield venue.fill(f"cart-{number}", {"a": ask}) if is_cart else venue.place(ask)


def all_at_once(two_engines: TwoEngines, commands: Iterator[Command]) -> list[object]:
    _, engines = two_engines
    futures = [engines[n % 2].submit(command) for n, command in enumerate(commands)]
    return [future.result(ANSWER_SECONDS).outcome for future in futures]


def had(world: PostgresWorld, nights: list[Venue]) -> dict[str, int]:
    with psycopg.connect(world.url) as connection:
        row: Any = connection.execute(HELD, [nights[0].organization_id]).fetchone()
    return dict(zip(LIMITS, row, strict=True))


@pytest.mark.parametrize("limit", LIMITS)
def test_a_thousand_requests_of_one_holder_stay_within_every_limit(
    two_engines: TwoEngines, limit: str
) -> None:
    world, _ = two_engines
    nights = two_nights(world, limit)
    outcomes = all_at_once(two_engines, asks(nights, REQUESTS))
    assert {type(outcome) for outcome in outcomes} == {Placed, Refusal}
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
    assert {refusal.details.get("policy") for refusal in refusals} == {limit}
    assert had(world, nights)[limit] == LIMITS[limit]
    assert_sound(world.url)


@pytest.mark.parametrize("limit", LIMITS)
def test_control_without_the_holder_lock_a_limit_is_exceeded(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    unlocked(monkeypatch, ResourceKind.HOLDER)
    slowly(monkeypatch)
    world, _ = two_engines
    for _ in range(CONTROL_TRIES_MAX):  # the two engines may happen to take turns
        nights = two_nights(world, limit)
        all_at_once(two_engines, asks(nights, CONTROL_REQUESTS))
        if had(world, nights)[limit] > LIMITS[limit]:
            return
    raise AssertionError("the limit held without its lock")


def test_tickets_that_are_being_paid_for_are_counted_once(two_engines: TwoEngines) -> None:
    world, _ = two_engines
    for _ in range(20):
        nights = two_nights(world, "holder_units_max")
        placed = all_at_once(two_engines, asks(nights, 4))
        holds = [outcome.hold for outcome in placed if isinstance(outcome, Placed)]
        paying = [nights[0].convert(hold.id) for hold in holds]
        mixed = (*paying[:2], *asks(nights, 20), *paying[2:], *asks(nights, 20))
        all_at_once(two_engines, iter(mixed))
        assert had(world, nights)["holder_units_max"] == LIMITS["holder_units_max"]
    assert_sound(world.url)


class Stopped:
    """Stops the group of an engine that would commit one of these holds, after its decision."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, hold_ids: set[HoldId]) -> None:
        self.decided, self.may_commit, self.others = (threading.Event() for _ in range(3))
        write, read = PostgresGroup.write_and_commit, PostgresGroup.lock_and_read

        def stop(group: PostgresGroup, writes: GroupWrites) -> None:
            if any(each.after.id in hold_ids for each in writes.transitions):
                self.decided.set()
                assert self.may_commit.wait(ANSWER_SECONDS)
            write(group, writes)

        def see(group: PostgresGroup, *wanted: Any) -> Ledger:
            ledger = read(group, *wanted)
            if self.decided.is_set():
                self.others.set()
            return ledger

        monkeypatch.setattr(PostgresGroup, "write_and_commit", stop)
        monkeypatch.setattr(PostgresGroup, "lock_and_read", see)


LAST_MOMENT: dict[str, Callable[[Venue, HoldId], Command]] = {
    "extend": lambda venue, hold_id: venue.extend(hold_id, 60),
    "check out": lambda venue, hold_id: venue.check_out(hold_id),
    "convert": lambda venue, hold_id: venue.convert(hold_id),
}


def at_the_last_moment(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch, name: str
) -> Outcome | None:
    """A holder with all the tickets that are allowed saves them in time. That is decided, but not
    committed, when their time is up and the holder asks another server for one more."""
    world, (first, second) = two_engines
    nights = two_nights(world, "holder_units_max")
    (placed,) = all_at_once(two_engines, iter([nights[0].place((TYPES[0], 7))]))
    assert isinstance(placed, Placed)
    hold_id = placed.hold.id
    stopped = Stopped(monkeypatch, {hold_id})
    with psycopg.connect(world.url, autocommit=True) as owner:
        set_ends(owner, nights[0], [hold_id], 0.5)
        saved = first.submit(LAST_MOMENT[name](nights[0], hold_id))
        assert stopped.decided.wait(ANSWER_SECONDS)
        owner.execute("SELECT pg_sleep_until(expires_at) FROM hold WHERE id = %s", [hold_id])
    more = second.submit(nights[1].place((TYPES[1], 1)))
    assert stopped.others.wait(ANSWER_SECONDS)
    stopped.may_commit.set()
    assert not isinstance(saved.result(ANSWER_SECONDS).outcome, Refusal), "it came in time"
    return more.result(ANSWER_SECONDS).outcome


@pytest.mark.parametrize("name", LAST_MOMENT)
def test_a_hold_that_is_saved_at_the_last_moment_counts(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    outcome = at_the_last_moment(two_engines, monkeypatch, name)
    assert isinstance(outcome, Refusal)
    assert outcome.details["current"] == 7


@pytest.mark.parametrize("name", LAST_MOMENT)
def test_control_without_the_holder_lock_it_does_not_count(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    unlocked(monkeypatch, ResourceKind.HOLDER)
    outcome = at_the_last_moment(two_engines, monkeypatch, name)
    assert isinstance(outcome, Placed)


def after_a_promotion_in_time(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> Outcome | None:
    """A party that waits for all the tickets that are allowed is promoted in time. That is decided,
    but not committed, when its waiting time is up and it asks another server for one more."""
    world, (first, second) = two_engines
    policy = nearest_policy(PolicyOverride(holder_units_max=7, waitlist=True))
    plan = Plan({"floor": 7, "hall": 10}, {"standing": ("floor",), "seated": ("hall",)}, policy)
    night = world.build(plan)
    other = world.build(plan, beside=night)
    sold_out = first.submit(night.place(("standing", 7), holder=STRANGER)).result(ANSWER_SECONDS)
    assert isinstance(sold_out.outcome, Placed)
    joined = first.submit(night.place(("standing", 7))).result(ANSWER_SECONDS).outcome
    assert isinstance(joined, Waiting)
    hold_id = joined.hold.id
    stopped = Stopped(monkeypatch, {hold_id})
    with psycopg.connect(world.url, autocommit=True) as owner:
        set_ends(owner, night, [hold_id], 0.5)
        freed = first.submit(night.release(sold_out.outcome.hold.id))
        assert stopped.decided.wait(ANSWER_SECONDS)
        owner.execute("SELECT pg_sleep_until(expires_at) FROM hold WHERE id = %s", [hold_id])
    more = second.submit(other.place(("seated", 1)))
    assert stopped.others.wait(ANSWER_SECONDS)
    outcome = more.result(ANSWER_SECONDS).outcome
    stopped.may_commit.set()
    assert not isinstance(freed.result(ANSWER_SECONDS).outcome, Refusal)
    with psycopg.connect(world.url) as owner:
        status = owner.execute("SELECT status FROM hold WHERE id = %s", [hold_id]).fetchone()
    assert status == ("active",), "it was promoted in time"
    return outcome


def test_a_party_that_is_promoted_at_the_last_moment_counts(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = after_a_promotion_in_time(two_engines, monkeypatch)
    assert isinstance(outcome, Refusal)
    assert outcome.details["current"] == 7


def test_control_if_waiting_ends_on_the_second_it_does_not_count(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LiveHold, "counts", lambda hold, now: now < hold.expires_at)
    outcome = after_a_promotion_in_time(two_engines, monkeypatch)
    assert isinstance(outcome, Placed)


def extensions(two_engines: TwoEngines, limit: int) -> int:
    """Extend one hold many times at once; how often that succeeded."""
    world, _ = two_engines
    policy = HoldPolicy(extensions_max=limit, lifetime_max_seconds=6000)
    venue = world.build(Plan({"floor": 10}, {"standing": ("floor",)}, policy))
    (outcome,) = all_at_once(two_engines, iter([venue.place(("standing", 1))]))
    assert isinstance(outcome, Placed)
    outcomes = all_at_once(two_engines, (venue.extend(outcome.hold.id, 1) for _ in range(100)))
    return sum(isinstance(each, Extended) for each in outcomes)


def test_a_hold_is_extended_only_as_often_as_allowed(two_engines: TwoEngines) -> None:
    assert [extensions(two_engines, 3) for _ in range(10)] == [3] * 10


def test_control_without_the_hold_lock_it_is_extended_more_often(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor the pool's, and without the index that would refuse the second fact."""
    world, _ = two_engines
    with psycopg.connect(world.url, autocommit=True) as connection:
        connection.execute("ALTER TABLE outbox DROP CONSTRAINT outbox_fact_happens_once")
    without(monkeypatch, "LOCK_HOLDS")
    without(monkeypatch, "LOCK_POOLS")
    slowly(monkeypatch)
    assert any(extensions(two_engines, 3) > 3 for _ in range(20))


def fan(crowd: Crowd, sale: Sale, number: int) -> Reply:
    body = {
        "session_id": sale.session_id,
        "ticket_type_id": sale.ticket_type_ids[number % len(sale.ticket_type_ids)],
        "quantity": 1,
        "user_id": "fan",
    }
    return crowd.place(body)


def limited_sale(platform: Platform) -> Sale:
    return platform.on_sale(*[1000] * 8, hold_policy={"holder_units_max": 7})


def a_thousand_clients(server: RunningServer, after_a_third: Callable[[], object]) -> None:
    platform = new_platform(server.base_url, server.database_url)
    sale, crowd, answered = limited_sale(platform), Crowd(platform, REQUESTS), count(1)

    def send(number: int) -> Reply:
        reply = fan(crowd, sale, number)
        if next(answered) == REQUESTS // 3:
            after_a_third()
        return reply

    replies = crowd.all_at_once(send)
    crowd.close()
    assert Counter(reply.status for reply in replies) == {201: 7, 409: REQUESTS - 7}
    refusals = [reply.json() for reply in replies if reply.status == 409]
    assert {(each["error"], each["limit"], each["current"]) for each in refusals} == {
        ("holder_limit_reached", 7, 7)
    }
    assert_sound(server.database_url)


def test_a_thousand_clients_of_one_holder_get_no_more_than_the_limit(
    databases: DatabaseFactory, make_server: Callable[..., RunningServer]
) -> None:
    server = make_server(databases.fresh(), **TWO_PROCESSES).start()
    a_thousand_clients(server, lambda: None)


def test_with_valkey_killed_in_the_middle_they_get_no_more_either(
    databases: DatabaseFactory, make_server: Callable[..., RunningServer], tmp_path: Path
) -> None:
    with EmbeddedValkey(tmp_path / "valkey") as valkey:
        environment = {**TWO_PROCESSES, "REDIS_URL": valkey.url}
        server = make_server(databases.fresh(), **environment).start()
        a_thousand_clients(server, valkey.kill)


def test_control_without_the_holder_lock_they_get_more(
    databases: DatabaseFactory, make_server: Callable[..., RunningServer]
) -> None:
    environment = {**TWO_PROCESSES, "PYTHONPATH": str(UNLIMITED)}
    server = make_server(databases.fresh(), **environment).start()
    platform = new_platform(server.base_url, server.database_url)
    crowd = Crowd(platform, CONTROL_REQUESTS)
    for _ in range(10):
        sale = limited_sale(platform)
        replies = crowd.all_at_once(partial(fan, crowd, sale))
        if sum(reply.status == 201 for reply in replies) > 7:
            break
    else:
        pytest.fail("no limit was exceeded: the race above proves nothing")
    crowd.close()
