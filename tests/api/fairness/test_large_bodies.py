"""Large bodies stay in memory until they are processed, so only a few are accepted at once."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from starlette.types import Message

from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.fairness.large_bodies import (
    BODIES_MAX,
    BODIES_OF_ONE_MAX,
    LargeBodies,
)
from holdfast.entrypoints.api.http.parsing import BODY_BYTES_MAX
from holdfast.entrypoints.api.http.problems import Problem
from tests.api.world import SESSION, World

BOUND_SECONDS = 60
ORGANIZATIONS = [OrganizationId(UUID(int=number)) for number in range(1, 10)]


def enter(bodies: LargeBodies, organization_id: OrganizationId) -> object:
    request = object()
    bodies.enter(request, organization_id)
    return request


def test_one_organization_gets_no_more_than_its_share() -> None:
    bodies = LargeBodies()
    entered = [enter(bodies, ORGANIZATIONS[0]) for _ in range(BODIES_OF_ONE_MAX)]
    with pytest.raises(Problem) as refused:
        enter(bodies, ORGANIZATIONS[0])
    assert refused.value.code is RefusalCode.SERVICE_UNAVAILABLE
    enter(bodies, ORGANIZATIONS[1])
    bodies.leave(entered[0])
    enter(bodies, ORGANIZATIONS[0])


def test_all_organizations_together_are_bounded() -> None:
    bodies = LargeBodies()
    entered = [
        enter(bodies, ORGANIZATIONS[number // BODIES_OF_ONE_MAX]) for number in range(BODIES_MAX)
    ]
    with pytest.raises(Problem):
        enter(bodies, ORGANIZATIONS[-1])
    bodies.leave(entered[0])
    bodies.leave(entered[0])
    enter(bodies, ORGANIZATIONS[-1])
    with pytest.raises(Problem):
        enter(bodies, ORGANIZATIONS[-1])


Receive = Callable[[], Awaitable[Message]]


@pytest.mark.parametrize(
    "length",
    [(b"content-length", b"%d" % (BODY_BYTES_MAX + 1)), (b"transfer-encoding", b"chunked")],
)
def test_one_body_too_many_is_refused_unread(world: World, length: tuple[bytes, bytes]) -> None:
    async def scenario() -> None:
        reading = asyncio.Semaphore(0)

        async def never() -> Message:
            reading.release()
            await asyncio.Event().wait()
            raise AssertionError

        async def small() -> Message:
            return {"type": "http.request", "body": b"block,row,number\nA,1,1"}

        async def post(receive: Receive, length: tuple[bytes, bytes]) -> Message:
            sent: list[Message] = []

            async def send(message: Message) -> None:
                sent.append(message)

            await world.api(import_scope(world.secret, length), receive, send)
            return sent[0]

        slow = [asyncio.ensure_future(post(never, length)) for _ in range(BODIES_OF_ONE_MAX)]
        async with asyncio.timeout(BOUND_SECONDS):
            for _ in slow:
                await reading.acquire()
            refused = await post(never, length)
            assert refused["status"] == 503
            assert (b"retry-after", b"1") in refused["headers"]
            assert (await post(small, (b"content-length", b"22")))["status"] == 404
            gone = slow.pop()
            gone.cancel()
            await asyncio.wait({gone})
            assert (await post(small, length))["status"] == 404
        for each in slow:
            each.cancel()
        await asyncio.gather(*slow, return_exceptions=True)

    asyncio.run(scenario())


def import_scope(secret: str, length: tuple[bytes, bytes]) -> Message:
    path = f"/api/sessions/{SESSION}/seats"
    headers = [
        (b"authorization", f"Bearer {secret}".encode()),
        (b"content-type", b"text/csv"),
        length,
    ]
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "client": None,
    }
