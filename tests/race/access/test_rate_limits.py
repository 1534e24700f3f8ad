"""One buyer sends a thousand requests at once: never more seats than the limit allows, with Valkey
there, killed, restarted empty or hanging."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
import pytest
import redis

from holdfast.adapters.embedded import EmbeddedValkey
from holdfast.adapters.redis.rates import ANSWER_SECONDS_MAX, ValkeyRates
from holdfast.domain.access.rates import Rate, RateLimits
from holdfast.domain.ids import OrganizationId
from holdfast.ports.rates import Count, Want
from holdfast.services.access.rates.limiter import RateLimiter, Taking
from holdfast.services.access.rates.local import LocalRates
from tests.api.world import ORGANIZATION, World, hold_body
from tests.support.patience import PATIENCE_SECONDS

CROWD, LIMIT = 1_000, 10
OWN = OrganizationId(uuid4())
SEATS = Rate(LIMIT, 300)


@pytest.fixture
def own_valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey(tmp_path_factory.mktemp("valkey")) as valkey:
        yield valkey


def want(key: str, units: int = 1, rate: Rate = SEATS) -> Want:
    return Want("seats_per_holder", key, rate, units)


async def granted(limiters: list[RateLimiter], key: str, crowd: int = CROWD) -> int:
    takings = await asyncio.gather(
        *(limiters[each % len(limiters)].take(OWN, [want(key)]) for each in range(crowd))
    )
    return sum(taking.is_taken for taking in takings)


def process(valkey: EmbeddedValkey) -> RateLimiter:
    """What one server process has."""
    return RateLimiter(LocalRates(), ValkeyRates(valkey.url))


async def until_shared(limiter: RateLimiter) -> None:
    """Wait until this process counts in Valkey again."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (await limiter.take(OWN, [want(str(uuid4()))])).shared_slots:
            await asyncio.sleep(0.01)


class CountedAfterwards(RateLimiter):
    """Looks whether there is room, and takes it only when the hold is made."""

    async def take(self, organization_id: OrganizationId, wants: list[Want]) -> Taking:  # type: ignore[override]
        taking = await super().take(organization_id, wants)
        if taking.is_taken:
            self.give_back(taking, [want.units for want in wants])
        return taking


@asynccontextmanager
async def client_of(limiter: RateLimiter) -> AsyncIterator[httpx.AsyncClient]:
    world = World(limiter=limiter)
    world.rate_book.of = {ORGANIZATION: RateLimits(seats_per_holder=SEATS)}
    headers = {"Authorization": f"Bearer {world.secret}"}
    transport = httpx.ASGITransport(app=world.api)
    try:
        async with httpx.AsyncClient(
            transport=transport, base_url="http://api", headers=headers, timeout=PATIENCE_SECONDS
        ) as client:
            yield client
    finally:
        world.close()


async def holds_of_a_crowd(limiter: RateLimiter) -> list[int]:
    async with client_of(limiter) as client:
        body = hold_body(quantity=1)
        answers = await asyncio.gather(
            *(client.post("/api/holds", json=body) for _ in range(CROWD))
        )
    return [answer.status_code for answer in answers]


def test_a_crowd_of_requests_gets_no_more_than_the_limit(own_valkey: EmbeddedValkey) -> None:
    statuses = asyncio.run(holds_of_a_crowd(process(own_valkey)))
    assert (statuses.count(201), statuses.count(429)) == (LIMIT, CROWD - LIMIT)


def test_control_counting_afterwards_lets_too_many_through() -> None:
    statuses = asyncio.run(holds_of_a_crowd(CountedAfterwards(LocalRates())))
    assert statuses.count(201) > LIMIT


def test_two_processes_together_grant_no_more_than_the_limit(own_valkey: EmbeddedValkey) -> None:
    async def race() -> int:
        processes = [process(own_valkey), process(own_valkey)]
        for each in processes:
            await until_shared(each)
        return await granted(processes, "buyer")

    assert asyncio.run(race()) == LIMIT


def test_control_without_valkey_each_process_grants_the_limit() -> None:
    processes = [RateLimiter(LocalRates()), RateLimiter(LocalRates())]
    assert asyncio.run(granted(processes, "buyer")) == 2 * LIMIT


class Forgetful(LocalRates):
    """Counts nothing itself, like a process that trusts Valkey alone and fails open."""

    def take(self, organization_id: OrganizationId, wants: object) -> Count:
        assert isinstance(wants, list)
        return LocalRates().take(organization_id, wants)


async def with_a_fault(
    local: LocalRates, valkey: EmbeddedValkey, fault: Callable[[], object]
) -> int:
    """Half the limit before the fault, the crowd during and after it."""
    limiter = RateLimiter(local, ValkeyRates(valkey.url))
    await until_shared(limiter)
    first = await granted([limiter], "buyer", LIMIT // 2)
    crowd = asyncio.gather(granted([limiter], "buyer"), asyncio.to_thread(fault))
    return first + (await crowd)[0] + await granted([limiter], "buyer")


def test_no_more_than_the_limit_with_valkey_killed_in_the_middle(
    own_valkey: EmbeddedValkey,
) -> None:
    assert asyncio.run(with_a_fault(LocalRates(), own_valkey, own_valkey.kill)) == LIMIT


def test_control_without_the_count_of_the_process_a_killed_valkey_opens_the_gate(
    own_valkey: EmbeddedValkey,
) -> None:
    assert asyncio.run(with_a_fault(Forgetful(), own_valkey, own_valkey.kill)) > LIMIT


def test_no_more_than_the_limit_with_valkey_emptied(own_valkey: EmbeddedValkey) -> None:
    def empty() -> None:
        with redis.Redis.from_url(own_valkey.url) as client:
            client.flushall()

    assert asyncio.run(with_a_fault(LocalRates(), own_valkey, empty)) == LIMIT


def test_valkey_that_lost_the_scripts_is_given_them_again(own_valkey: EmbeddedValkey) -> None:
    async def race() -> int:
        limiter = process(own_valkey)
        await until_shared(limiter)
        with redis.Redis.from_url(own_valkey.url) as client:
            client.script_flush()
        return len((await limiter.take(OWN, [want("buyer")])).shared_slots)

    assert asyncio.run(race()) == 1


async def while_hanging(valkey: EmbeddedValkey, during: Callable[[], Awaitable[None]]) -> None:
    os.kill(valkey.pid, signal.SIGSTOP)
    try:
        await during()
    finally:
        os.kill(valkey.pid, signal.SIGCONT)


def test_a_hanging_valkey_delays_nobody_for_long_and_comes_back(
    own_valkey: EmbeddedValkey,
) -> None:
    async def race() -> None:
        limiter, other = process(own_valkey), process(own_valkey)
        await until_shared(limiter)
        await until_shared(other)

        async def during() -> None:
            started = time.monotonic()
            assert await granted([limiter], "buyer") == LIMIT
            # All of them together, not each of them: the next one would wait for nothing.
            assert time.monotonic() - started < CROWD * ANSWER_SECONDS_MAX / 20
            started = time.process_time()
            for _ in range(CROWD):
                assert not (await limiter.take(OWN, [want(str(uuid4()))])).shared_slots
            assert time.process_time() - started < CROWD * ANSWER_SECONDS_MAX / 10

        await while_hanging(own_valkey, during)
        await until_shared(limiter)
        await until_shared(other)
        assert await granted([limiter, other], "another buyer") == LIMIT

    asyncio.run(race())


def test_units_given_back_are_free_for_other_processes(own_valkey: EmbeddedValkey) -> None:
    async def race() -> None:
        one, other = process(own_valkey), process(own_valkey)
        taking = await one.take(OWN, [want("buyer", LIMIT)])
        assert not (await other.take(OWN, [want("buyer")])).is_taken
        one.give_back(taking, [4])
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (await other.take(OWN, [want("buyer", 4)])).is_taken:
                await asyncio.sleep(0.01)
        assert not (await other.take(OWN, [want("buyer")])).is_taken

    asyncio.run(race())


def test_valkey_frees_units_after_the_period_and_forgets_the_count(
    own_valkey: EmbeddedValkey,
) -> None:
    async def race() -> None:
        rates, second = ValkeyRates(own_valkey.url), Rate(1, 1)
        assert (await rates.take([want("buyer", rate=second)])).is_taken
        refused = await rates.take([want("buyer", rate=second)])
        assert not refused.is_taken
        wait = refused.levels[0].wait_seconds
        assert wait is not None
        assert 0 < wait <= 1.1
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (await rates.take([want("buyer", rate=second)])).is_taken:
                await asyncio.sleep(0.01)
            with redis.Redis.from_url(own_valkey.url) as client:
                while client.dbsize():
                    await asyncio.sleep(0.01)

    asyncio.run(race())


def test_what_is_charged_beyond_the_limit_counts_for_all_processes(
    own_valkey: EmbeddedValkey,
) -> None:
    async def race() -> None:
        one, other = process(own_valkey), process(own_valkey)
        taking = await one.take(OWN, [want("buyer", 0)])
        charged = await one.charge(taking, [LIMIT + 5])
        assert [level.used for level in charged.levels] == [LIMIT + 5]
        for each in (one, other):
            assert not (await each.take(OWN, [want("buyer")])).is_taken

    asyncio.run(race())


def test_a_call_that_valkey_refuses_fails_alone(own_valkey: EmbeddedValkey) -> None:
    async def race() -> None:
        limiter = process(own_valkey)
        await until_shared(limiter)
        with redis.Redis.from_url(own_valkey.url) as client:
            client.set("bad", "no hash")
        keys = ("good", "bad", "also good")
        takings = await asyncio.gather(*(limiter.take(OWN, [want(key)]) for key in keys))
        assert [bool(taking.shared_slots) for taking in takings] == [True, False, True]
        assert (await limiter.take(OWN, [want("good")])).shared_slots

    asyncio.run(race())


def test_valkey_out_of_memory_is_not_lost(own_valkey: EmbeddedValkey) -> None:
    async def race() -> None:
        limiter = process(own_valkey)
        await until_shared(limiter)
        with redis.Redis.from_url(own_valkey.url) as client:
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("maxmemory", 1)
            taking = await limiter.take(OWN, [want("buyer")])
            assert (taking.is_taken, taking.shared_slots) == (True, ())
            client.config_set("maxmemory", 0)
        assert (await limiter.take(OWN, [want("buyer")])).shared_slots

    asyncio.run(race())


class FailsOnce(ValkeyRates):
    """Has a bug, in the exchange and in the first attempt to recover from it."""

    bugs = 0

    async def _exchange(self, batch: object) -> list[Any]:
        if self.bugs == 0:
            self.bugs = 1
            raise KeyError("bug")
        return await super()._exchange(batch)  # type: ignore[arg-type]

    async def _connect(self) -> Any:
        if self.bugs == 1:
            self.bugs = 2
            raise KeyError("bug")
        return await super()._connect()


def test_an_unexpected_error_is_recovered_from(own_valkey: EmbeddedValkey) -> None:
    async def race() -> None:
        limiter = RateLimiter(LocalRates(), FailsOnce(own_valkey.url))
        assert not (await limiter.take(OWN, [want("buyer")])).shared_slots
        await until_shared(limiter)

    asyncio.run(race())


def test_subjects_beyond_the_bound_are_not_stored_in_valkey(own_valkey: EmbeddedValkey) -> None:
    async def race() -> None:
        limiter = RateLimiter(LocalRates(counts_max=20), ValkeyRates(own_valkey.url))
        for number in range(100):
            assert (await limiter.take(OWN, [want(f"buyer {number}")])).is_taken
        with redis.Redis.from_url(own_valkey.url) as client:
            assert client.dbsize() == 20

    asyncio.run(race())


def test_both_stores_count_alike(own_valkey: EmbeddedValkey) -> None:
    """The same wants, at the same time, have the same answers."""

    async def race() -> None:
        local, shared = LocalRates(), ValkeyRates(own_valkey.url)
        for units in (3, 0, 4, 4, 2, 11, 1, 1):
            wants = [want("buyer", units), want("other", 1, Rate(5, 600))]
            mine, theirs = local.take(OWN, wants), await shared.take(wants)
            assert mine.is_taken == theirs.is_taken
            assert [level.used for level in mine.levels] == [level.used for level in theirs.levels]
            never = [level.wait_seconds is None for level in mine.levels]
            assert never == [level.wait_seconds is None for level in theirs.levels]

    asyncio.run(race())
