"""Unknown keys, which anybody can send, cost the other callers nothing."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from threading import Event
from uuid import UUID

import httpx
import pytest

from holdfast.domain.access.scopes import Mode
from holdfast.domain.access.tokens import HolderToken, revocation_keys
from holdfast.domain.values import Holder
from holdfast.entrypoints.api.access import key_lookups, tarpit
from holdfast.entrypoints.api.app import Api, create_api
from holdfast.ports.access import Principal
from holdfast.services.access import authentication
from holdfast.services.access.authentication import Authenticator, new_secret_key
from tests.api.world import StubKeys, World, trusting

LONG_SECONDS = 30.0
# A delay longer than any test.
ENDLESS_SECONDS = 3600.0


@dataclass
class SlowKeys:
    """Looks keys up when the test allows it, and records the size of each lookup."""

    known: StubKeys
    may_look: Event = field(default_factory=Event)
    is_asked: Event = field(default_factory=Event)
    batches: list[int] = field(default_factory=list)

    def find(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, Principal]:
        self.batches.append(len(secret_hashes))
        self.is_asked.set()
        assert self.may_look.wait(LONG_SECONDS)
        return self.known.find(secret_hashes)


@dataclass
class Door:
    """An API whose key directory can be made to hang."""

    keys: SlowKeys
    authenticator: Authenticator
    api: Api

    @asynccontextmanager
    async def clients(self, address: str = "192.0.2.1") -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(app=self.api, client=(address, 4711))
        async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
            yield client

    async def asked(self) -> None:
        """Wait until the directory is looking up a key."""
        assert await asyncio.to_thread(self.keys.is_asked.wait, LONG_SECONDS)


@pytest.fixture
def door(world: World) -> Iterator[Door]:
    keys = SlowKeys(world.keys)
    authenticator = trusting(keys)
    api = create_api(replace(world.container, authenticator=authenticator))
    yield Door(keys, authenticator, api)
    keys.may_look.set()
    api.close()


async def call(client: httpx.AsyncClient, secret: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {secret}"}
    async with asyncio.timeout(LONG_SECONDS):
        return await client.get("/api/events", headers=headers)


def unknown_key() -> str:
    return new_secret_key(Mode.LIVE)[0]


async def flood(client: httpx.AsyncClient, count: int) -> list[asyncio.Task[httpx.Response]]:
    """Send requests with a different key each, and wait until all are under way."""
    tasks = [asyncio.ensure_future(call(client, unknown_key())) for _ in range(count)]
    for _ in range(100):
        await asyncio.sleep(0)
    return tasks


def codes(answers: Sequence[httpx.Response]) -> list[int]:
    return sorted(answer.status_code for answer in answers)


class TestLookups:
    def test_a_hanging_directory_does_not_delay_known_keys(self, world: World, door: Door) -> None:
        async def scene() -> None:
            async with door.clients() as client:
                door.keys.may_look.set()
                assert (await call(client, world.secret)).status_code == 200
                door.keys.may_look.clear()
                door.keys.is_asked.clear()
                strangers = await flood(client, 20)
                await door.asked()
                assert (await call(client, world.secret)).status_code == 200
                assert not any(task.done() for task in strangers)
                door.keys.may_look.set()
                assert codes(await asyncio.gather(*strangers)) == [401] * 20

        asyncio.run(scene())

    def test_keys_that_arrive_during_a_lookup_share_the_next_one(self, door: Door) -> None:
        async def scene() -> None:
            async with door.clients() as client:
                strangers = await flood(client, 1)
                await door.asked()
                strangers += await flood(client, 30)
                door.keys.may_look.set()
                assert codes(await asyncio.gather(*strangers)) == [401] * 31

        asyncio.run(scene())
        assert door.keys.batches == [1, 30]

    def test_an_address_has_a_bounded_number_of_lookups_in_flight(
        self, world: World, door: Door, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(key_lookups, "LOOKUPS_OF_ADDRESS_MAX", 3)
        newcomer = world.keys.new_key("catalog:read")

        async def scene() -> None:
            async with door.clients() as client, door.clients("192.0.2.2") as elsewhere:
                strangers = await flood(client, 3)
                await door.asked()
                refused = await call(client, unknown_key())
                assert (refused.status_code, refused.json()["error"]) == (429, "too_many_requests")
                assert refused.headers["retry-after"] == "1"
                others = [asyncio.ensure_future(call(elsewhere, newcomer))]
                door.keys.may_look.set()
                assert codes(await asyncio.gather(*strangers)) == [401] * 3
                assert codes(await asyncio.gather(*others)) == [200]
                assert (await call(client, unknown_key())).status_code == 401

        asyncio.run(scene())

    def test_addresses_of_one_ipv6_network_share_their_lookups(
        self, door: Door, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(key_lookups, "LOOKUPS_OF_ADDRESS_MAX", 3)

        async def scene() -> None:
            async with (
                door.clients("2001:db8:1:2::1") as client,
                door.clients("2001:db8:1:2:ffff::9") as beside,
                door.clients("2001:db8:1:3::1") as elsewhere,
            ):
                strangers = await flood(client, 3)
                await door.asked()
                assert (await call(beside, unknown_key())).status_code == 429
                strangers += await flood(elsewhere, 1)
                door.keys.may_look.set()
                assert codes(await asyncio.gather(*strangers)) == [401] * 4

        asyncio.run(scene())

    @pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8:1:2::1"])
    def test_tokens_have_a_bounded_number_of_lookups_in_flight(
        self, world: World, monkeypatch: pytest.MonkeyPatch, address: str
    ) -> None:
        """Of a network, too, and without a look-up for those that are forged."""
        monkeypatch.setattr(key_lookups, "LOOKUPS_OF_ADDRESS_MAX", 2)
        is_asked, may_look = Event(), Event()
        seconds_left = world.tokens.seconds_left

        def hang(tokens: Sequence[HolderToken]) -> Mapping[UUID, float]:
            is_asked.set()
            assert may_look.wait(LONG_SECONDS)
            return seconds_left(tokens)

        monkeypatch.setattr(world.tokens, "seconds_left", hang)
        beside = address.replace("::1", "::2")

        async def scene() -> None:
            door = Door(SlowKeys(world.keys), world.container.authenticator, world.api)
            async with door.clients(address) as client, door.clients(beside) as other:
                known = [asyncio.ensure_future(call(client, world.token())) for _ in range(2)]
                assert await asyncio.to_thread(is_asked.wait, LONG_SECONDS)
                refused = await call(other, world.token())
                assert (refused.status_code, refused.json()["error"]) == (429, "too_many_requests")
                assert (await call(other, f"{world.token()[:-4]}AAAA")).status_code == 401
                may_look.set()
                assert codes(await asyncio.gather(*known)) == [200] * 2

        asyncio.run(scene())

    @pytest.mark.parametrize("bound", ["LOOKUPS_OF_ADDRESS_MAX", "LOOKUPS_MAX"])
    def test_a_formerly_valid_key_is_looked_up_despite_a_flood(
        self, world: World, door: Door, monkeypatch: pytest.MonkeyPatch, bound: str
    ) -> None:
        """Its cache entry has just become stale, and a proxy sends it from the same address as the
        flood."""
        monkeypatch.setattr(key_lookups, bound, 3)

        async def scene() -> None:
            async with door.clients() as client:
                door.keys.may_look.set()
                assert (await call(client, world.secret)).status_code == 200
                door.authenticator.forget(None)
                door.keys.may_look.clear()
                door.keys.is_asked.clear()
                strangers = await flood(client, 3)
                await door.asked()
                known = asyncio.ensure_future(call(client, world.secret))
                assert (await call(client, unknown_key())).status_code == 429
                door.keys.may_look.set()
                assert (await known).status_code == 200
                assert codes(await asyncio.gather(*strangers)) == [401] * 3

        asyncio.run(scene())


class TestMemory:
    def test_an_unknown_key_is_cached_briefly(self) -> None:
        keys, now = StubKeys(), [100.0]
        authenticator = Authenticator(keys, clock=lambda: now[0])
        hashed = sha256(unknown_key().encode()).digest()
        assert not authenticator.is_unknown(hashed)
        authenticator.find([hashed])
        now[0] += authentication.UNKNOWN_SECONDS - 0.1
        assert authenticator.is_unknown(hashed)
        now[0] += 0.1
        assert not authenticator.is_unknown(hashed)

    def test_repeating_a_wrong_key_causes_one_lookup(self, world: World) -> None:
        secret = unknown_key()
        assert world.call("GET", "/api/events", secret=secret).status_code == 401
        questions = world.keys.questions
        assert world.call("GET", "/api/events", secret=secret).status_code == 401
        assert world.keys.questions == questions

    def test_unknown_keys_evict_no_valid_key_and_do_not_pile_up(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(authentication, "UNKNOWN_MAX", 5)
        keys = StubKeys()
        authenticator = trusting(keys, size_max=2)
        valid = sha256(keys.new_key("holds:read").encode()).digest()
        unknown = [sha256(bytes([number])).digest() for number in range(100)]
        authenticator.find([valid])
        authenticator.find(unknown)
        assert authenticator.remembered(valid)
        assert [each for each in unknown if authenticator.is_unknown(each)] == unknown[-5:]


class TestTarpit:
    """Beyond its allowance, refusals to an address are delayed; valid keys never are."""

    def test_refusals_are_delayed_and_answers_are_not(
        self, world: World, door: Door, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tarpit, "DELAY_SECONDS_MAX", ENDLESS_SECONDS)
        monkeypatch.setattr(tarpit, "DELAY_SECONDS_MIN", ENDLESS_SECONDS)
        monkeypatch.setattr(tarpit, "PROMPT_OF_ADDRESS_MAX", 0)
        door.keys.may_look.set()
        newcomer = world.keys.new_key("catalog:read")

        async def scene() -> None:
            async with door.clients() as client:
                late = await flood(client, 3)
                late.append(asyncio.ensure_future(call(client, "no key at all")))
                late.append(asyncio.ensure_future(client.get("/api/nothing")))
                late.append(asyncio.ensure_future(client.delete("/api/events")))
                invalid = client.post("/api/member-sessions", json={"username": "nobody"})
                late.append(asyncio.ensure_future(invalid))
                assert (await call(client, world.secret)).status_code == 200
                assert (await call(client, newcomer)).status_code == 200
                known = {"Authorization": f"Bearer {world.secret}"}
                assert (await client.get("/api/nothing", headers=known)).status_code == 404
                assert not any(task.done() for task in late)
                for task in late:
                    task.cancel()

        asyncio.run(scene())

    def test_addresses_of_one_ipv6_network_share_their_allowance(
        self, door: Door, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        counted: list[str] = []

        async def wait(_: tarpit.Tarpit, address: str) -> None:
            counted.append(address)

        monkeypatch.setattr(tarpit.Tarpit, "wait", wait)

        async def scene() -> None:
            for address in ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"):
                async with door.clients(address) as client:
                    assert (await client.get("/api/nothing")).status_code == 404

        asyncio.run(scene())
        assert counted[0] == counted[1] != counted[2]

    def test_forged_tokens_are_delayed_and_those_that_ended_are_not(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A browser whose token has ended shall get a new one at once."""
        monkeypatch.setattr(tarpit, "DELAY_SECONDS_MAX", ENDLESS_SECONDS)
        monkeypatch.setattr(tarpit, "DELAY_SECONDS_MIN", ENDLESS_SECONDS)
        monkeypatch.setattr(tarpit, "PROMPT_OF_ADDRESS_MAX", 0)
        token = world.token(Holder(user_id="leaver"))
        past = datetime.now(UTC) - timedelta(hours=1)

        async def scene() -> None:
            door = Door(SlowKeys(world.keys), world.container.authenticator, world.api)
            async with door.clients() as client:
                assert (await call(client, token)).status_code == 200
                never_seen = world.token(issued_at=past, expires_at=past)
                late = [
                    asyncio.ensure_future(call(client, each))
                    for each in (f"{token[:-4]}AAAA", "ht_test_x", never_seen)
                ]
                world.tokens.revoked.update(revocation_keys(Holder(user_id="leaver")))
                world.container.holders.authenticator.forget(None)
                assert (await call(client, token)).status_code == 401
                assert not any(task.done() for task in late)
                for task in late:
                    task.cancel()

        asyncio.run(scene())

    def test_each_address_and_all_together_have_an_allowance_per_second(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tarpit, "DELAY_SECONDS_MAX", ENDLESS_SECONDS)
        monkeypatch.setattr(tarpit, "DELAY_SECONDS_MIN", ENDLESS_SECONDS)
        monkeypatch.setattr(tarpit, "PROMPT_OF_ADDRESS_MAX", 2)
        monkeypatch.setattr(tarpit, "PROMPT_MAX", 3)
        now = [100.0]
        pit = tarpit.Tarpit(clock=lambda: now[0])

        async def waits(address: str) -> bool:
            task = asyncio.ensure_future(pit.wait(address))
            await asyncio.sleep(0)
            is_waiting = not task.done()
            task.cancel()
            return is_waiting

        async def scene() -> None:
            assert [await waits("a") for _ in range(3)] == [False, False, True]
            assert [await waits("b") for _ in range(2)] == [False, True]
            now[0] += 1
            assert not await waits("b")

        asyncio.run(scene())

    def test_more_refusals_mean_longer_delays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tarpit, "PROMPT_MAX", 0)
        delays: list[float] = []

        async def sleep(seconds: float) -> None:
            delays.append(seconds)
            await asyncio.Event().wait()

        def delay_of(number: int) -> tuple[float, float]:
            """The shortest and longest delay, because of jitter."""
            longest = max(tarpit.DELAY_SECONDS_MIN, number / tarpit.DELAYED_PER_SECOND)
            seconds = min(tarpit.DELAY_SECONDS_MAX, longest)
            return 0.75 * seconds, 1.25 * seconds

        pit = tarpit.Tarpit()

        async def scene() -> None:
            with monkeypatch.context() as patched:
                patched.setattr(asyncio, "sleep", sleep)
                tasks = [asyncio.ensure_future(pit.wait("a")) for _ in range(1_500)]
                while len(delays) < len(tasks):
                    await real_sleep(0)
            for task in tasks:
                task.cancel()

        real_sleep = asyncio.sleep
        asyncio.run(scene())
        for number in (1, 150, 300, 600, 1_500):
            least, most = delay_of(number)
            assert least <= delays[number - 1] <= most
        assert delay_of(600)[0] > delay_of(1)[1]

    def test_the_tarpit_holds_a_bounded_number(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tarpit, "DELAY_SECONDS_MAX", ENDLESS_SECONDS)
        monkeypatch.setattr(tarpit, "DELAY_SECONDS_MIN", ENDLESS_SECONDS)
        monkeypatch.setattr(tarpit, "PROMPT_MAX", 0)
        monkeypatch.setattr(tarpit, "DELAYED_MAX", 2)
        pit = tarpit.Tarpit()

        async def scene() -> None:
            tasks = [asyncio.ensure_future(pit.wait("a")) for _ in range(3)]
            await asyncio.sleep(0)
            assert [task.done() for task in tasks] == [False, False, True]
            tasks[0].cancel()
            await asyncio.wait({tasks[0]})
            another = asyncio.ensure_future(pit.wait("a"))
            await asyncio.sleep(0)
            assert not another.done()
            for task in (tasks[1], another):
                task.cancel()

        asyncio.run(scene())
