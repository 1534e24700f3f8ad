"""Rate limits in requests and answers."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import httpx
import pytest

from holdfast.domain.access.members import SignedIn
from holdfast.domain.access.rates import Rate, RateLimits
from holdfast.domain.access.roles import Role
from holdfast.domain.ids import MemberSessionId, OrganizationId
from holdfast.domain.values import Holder
from holdfast.services.access.rates.limiter import RateLimiter, Taking
from holdfast.services.access.rates.local import LocalRates
from tests.api.world import BALCONY, FLOOR, ORGANIZATION, SESSION, World

TEN = Rate(10, 300)


@dataclass
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limited(clock: Clock) -> Iterator[World]:
    world = World(limiter=RateLimiter(LocalRates(clock)))
    yield world
    world.close()


def limit(world: World, **rates: Rate) -> None:
    world.rate_book.of = {ORGANIZATION: RateLimits(**rates)}


def left(answer: httpx.Response) -> str:
    return str(answer.headers["RateLimit"])


def test_without_limits_nothing_is_said_about_them(limited: World) -> None:
    limited.rate_book.of = {OrganizationId(uuid4()): RateLimits(seats_per_holder=Rate(1, 300))}
    answer = limited.place(quantity=8)
    assert answer.status_code == 201
    assert "RateLimit" not in answer.headers
    assert "RateLimit-Policy" not in answer.headers


def test_seats_beyond_the_limit_get_429_and_the_time_to_retry(limited: World, clock: Clock) -> None:
    limit(limited, seats_per_holder=TEN)
    first = limited.place(quantity=8)
    assert first.headers["RateLimit-Policy"] == '"seats_per_holder";q=10;w=300'
    assert left(first) == '"seats_per_holder";r=2;t=300'
    refused = limited.place(quantity=3)
    assert refused.status_code == 429
    assert refused.headers["Content-Type"] == "application/problem+json"
    problem = refused.json()
    assert problem["error"] == "rate_limit_exceeded"
    assert problem["message"] == "Rate limit exceeded: max 10 seats reserved per 5 minutes"
    assert (problem["limit"], problem["maximum"]) == ("seats_per_holder", 10)
    assert problem["window_seconds"] == 300
    wait = problem["retry_after_seconds"]
    assert refused.headers["Retry-After"] == str(wait)
    assert left(refused).startswith('"seats_per_holder";r=2;')
    clock.now += wait
    assert limited.place(quantity=3).status_code == 201


def test_the_refused_attempt_is_audited(limited: World) -> None:
    limit(limited, seats_per_holder=Rate(1, 300))
    assert limited.place(quantity=2).status_code == 429
    (attempt,) = limited.attempts.kept
    assert (attempt.action, attempt.code) == ("hold.create_failed", "rate_limit_exceeded")


def test_a_request_for_more_than_the_limit_is_not_told_to_retry(limited: World) -> None:
    limit(limited, seats_per_holder=Rate(1, 300))
    refused = limited.place(quantity=2)
    assert "Retry-After" not in refused.headers
    assert "retry_after_seconds" not in refused.json()


def test_each_buyer_has_a_limit_of_their_own(limited: World) -> None:
    limit(limited, seats_per_holder=Rate(2, 300))
    assert limited.place(customer_email="ann@example.com").status_code == 201
    assert limited.place(customer_email="ANN@example.com").status_code == 429
    assert limited.place(customer_email="bob@example.com").status_code == 201


def test_refused_holds_and_invalid_requests_give_the_seats_back(limited: World) -> None:
    limit(limited, seats_per_holder=TEN)
    refused = limited.place(ticket_type_id=str(BALCONY), quantity=8)
    assert refused.status_code == 409
    assert left(refused) == '"seats_per_holder";r=10;t=300'
    assert limited.place(session_id=str(uuid4()), quantity=8).status_code == 400
    assert limited.place(quantity=0).status_code == 400
    assert limited.place(quantity=8).status_code == 201


def test_only_what_is_held_counts_if_fewer_are_accepted(limited: World) -> None:
    limit(limited, seats_per_holder=TEN)
    answer = limited.place(ticket_type_id=str(BALCONY), quantity=8, at_least=1)
    assert (answer.status_code, answer.json()["quantity"]) == (201, 1)
    assert left(answer) == '"seats_per_holder";r=9;t=300'


def test_a_replay_costs_nothing_and_is_answered_at_the_limit(limited: World) -> None:
    limit(limited, seats_per_holder=TEN)
    key = {"Idempotency-Key": "order-1"}
    first = limited.place(quantity=8, headers=key)
    again = limited.place(quantity=8, headers=key)
    assert (first.status_code, again.content) == (201, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert limited.place(quantity=2).status_code == 201
    assert limited.place(quantity=8, headers=key).content == first.content


def test_a_new_request_with_a_key_is_refused_and_succeeds_later(
    limited: World, clock: Clock
) -> None:
    limit(limited, seats_per_holder=TEN)
    limited.place(quantity=8)
    key = {"Idempotency-Key": "order-2"}
    refused = limited.place(quantity=8, headers=key)
    assert refused.status_code == 429
    clock.now += int(refused.headers["Retry-After"])
    assert limited.place(quantity=8, headers=key).status_code == 201


def test_a_hold_id_of_the_client_can_be_repeated_at_the_limit(limited: World) -> None:
    limit(limited, seats_per_holder=TEN)
    hold_id = str(uuid4())
    first = limited.place(quantity=8, hold_id=hold_id)
    assert first.status_code == 201
    assert limited.place(quantity=2).status_code == 201
    assert limited.place(quantity=8, hold_id=hold_id).content == first.content


def test_attempts_beyond_the_limit_that_might_be_repetitions_are_counted(limited: World) -> None:
    limit(limited, seats_per_holder=Rate(2, 300))
    first = limited.place(headers={"Idempotency-Key": "first"})
    assert first.status_code == 201
    reached = engine_calls(limited)
    for number in range(20):
        refused = limited.place(headers={"Idempotency-Key": f"order-{number}"})
        assert refused.status_code == 429
    # As many as the limit: one may be the answer that got lost.
    assert len(reached) == 2
    assert limited.place(user_id="another").status_code == 201


class Lenient(RateLimiter):
    """Does not count attempts at the limit."""

    async def take(self, organization_id: OrganizationId, wants: Any) -> Taking:
        if wants[0].name != "attempts_per_holder":
            return await super().take(organization_id, wants)
        return Taking(organization_id, wants, True, ())


def test_control_uncounted_attempts_beyond_the_limit_all_reach_the_engine(clock: Clock) -> None:
    world = World(limiter=Lenient(LocalRates(clock)))
    limit(world, seats_per_holder=Rate(2, 300))
    assert world.place(headers={"Idempotency-Key": "first"}).status_code == 201
    reached = engine_calls(world)
    for number in range(20):
        refused = world.place(headers={"Idempotency-Key": f"order-{number}"})
        assert refused.status_code == 429
    assert len(reached) == 20
    world.close()


def test_true_repetitions_at_the_limit_are_answered_however_many(limited: World) -> None:
    limit(limited, seats_per_holder=Rate(2, 300))
    key = {"Idempotency-Key": "first"}
    first = limited.place(headers=key)
    for _ in range(5):
        assert limited.place(headers=key).content == first.content


def engine_calls(world: World) -> list[object]:
    """What reaches the engine from now on."""
    submit, reached = world.engine.submit_for_callback, list[object]()

    def counted(command: Any, render: Any, deliver: Any) -> None:
        reached.append(command)
        submit(command, render, deliver)

    world.engine.submit_for_callback = counted  # type: ignore[method-assign]
    return reached


def test_a_cart_counts_by_what_it_grows_by(limited: World) -> None:
    limit(limited, seats_per_holder=TEN)
    sizes = [(8, 201, 2), (9, 200, 1), (9, 200, 1), (4, 200, 1), (5, 200, 0), (6, 429, 0)]
    for quantity, status, rest in sizes:
        answer = fill(limited, quantity)
        assert answer.status_code == status, answer.text
        assert f'"seats_per_holder";r={rest};' in left(answer)
    assert limited.call("GET", "/api/carts/a/hold").json()["quantity"] == 5


def test_requests_are_counted_by_key(limited: World, clock: Clock) -> None:
    limit(limited, requests_per_key=Rate(3, 10))
    other = limited.keys.new_key("holds:read")
    answers = [limited.call("GET", "/api/holds") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert [left(answer).split(";")[1] for answer in answers] == ["r=2", "r=1", "r=0", "r=0"]
    assert limited.call("GET", "/api/holds", secret=other).status_code == 200
    assert limited.place().status_code == 429
    clock.now += int(answers[-1].headers["Retry-After"])
    assert limited.place().status_code == 201


def test_each_session_of_a_member_counts_like_a_key(limited: World) -> None:
    limit(limited, requests_per_key=Rate(2, 10))
    one, other = (member_session(limited) for _ in range(2))
    statuses = [limited.call("GET", "/api/holds", secret=one).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert limited.call("GET", "/api/holds", secret=other).status_code == 200
    assert limited.call("GET", "/api/holds").status_code == 200


def member_session(world: World) -> str:
    """A session of the same member as every other one."""
    secret = world.keys.new_key("holds:read")
    hashed, principal = world.keys.principals.popitem()
    member = SignedIn(MemberSessionId(uuid4()), 7, "ann", Role.VIEWER)
    world.keys.principals[hashed] = replace(principal, key_id=None, member=member)
    return secret


def test_addresses_of_one_ipv6_network_count_together(limited: World) -> None:
    limit(limited, requests_per_address=Rate(2, 10))
    hosts = ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:2::3")
    assert [get_from(limited, host) for host in hosts] == [200, 200, 429]
    assert get_from(limited, "2001:db8:1:3::1") == 200
    mapped = ("::ffff:192.0.2.1", "192.0.2.1", "192.0.2.1")
    assert [get_from(limited, host) for host in mapped] == [200, 200, 429]
    assert get_from(limited, "192.0.2.2") == 200


def get_from(world: World, host: str) -> int:
    async def send() -> int:
        transport = httpx.ASGITransport(app=world.api, client=(host, 4711))
        headers = {"Authorization": f"Bearer {world.secret}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
            return (await client.get("/api/holds", headers=headers)).status_code

    return asyncio.run(send())


def test_invalid_requests_count_too(limited: World) -> None:
    limit(limited, requests_per_key=Rate(2, 10))
    statuses = [limited.place(quantity="x").status_code for _ in range(3)]
    assert statuses == [400, 400, 429]


def test_requests_are_counted_by_address(limited: World) -> None:
    limit(limited, requests_per_address=Rate(2, 10))
    other = limited.keys.new_key("holds:read")
    assert limited.call("GET", "/api/holds").status_code == 200
    assert limited.call("GET", "/api/holds", secret=other).status_code == 200
    refused = limited.call("GET", "/api/holds")
    assert (refused.status_code, refused.json()["limit"]) == (429, "requests_per_address")


def test_requests_are_counted_by_buyer(limited: World) -> None:
    limit(limited, requests_per_holder=Rate(2, 10), seats_per_holder=TEN)
    assert limited.place().status_code == 201
    assert limited.place(ticket_type_id=str(BALCONY), quantity=2).status_code == 409
    refused = limited.place()
    assert (refused.status_code, refused.json()["limit"]) == (429, "requests_per_holder")
    # The refused request took no seats.
    assert '"seats_per_holder";r=8;' in left(refused)
    assert limited.place(user_id="somebody else").status_code == 201


def test_every_request_with_a_token_counts_for_its_buyer_and_not_for_the_key(
    limited: World,
) -> None:
    limit(limited, requests_per_key=Rate(1, 10), requests_per_holder=Rate(2, 10))
    ann, ben = (limited.token(Holder(user_id=name)) for name in ("ann", "ben"))
    path = f"/api/carts/{uuid4()}/hold"
    assert limited.call("GET", path, secret=ann).status_code == 404
    asked = {"session_id": str(SESSION), "ticket_type_id": str(FLOOR), "quantity": 1}
    held = limited.call("POST", "/api/holds", json=asked, secret=ann)
    assert held.status_code == 201
    assert left(held).startswith('"requests_per_holder";r=0;')
    assert limited.call("GET", path, secret=ann).status_code == 429
    assert limited.call("GET", path, secret=ben).status_code == 404
    assert limited.call("GET", path).status_code == 404


def test_all_limits_that_apply_are_announced(limited: World) -> None:
    limit(
        limited,
        requests_per_key=Rate(100, 1),
        requests_per_address=Rate(50, 60),
        requests_per_holder=Rate(5, 60),
        seats_per_holder=TEN,
    )
    answer = limited.place(quantity=3)
    assert answer.headers["RateLimit-Policy"] == (
        '"requests_per_key";q=100;w=1, "requests_per_address";q=50;w=60, '
        '"requests_per_holder";q=5;w=60, "seats_per_holder";q=10;w=300'
    )
    assert left(answer) == (
        '"requests_per_key";r=99;t=1, "requests_per_address";r=49;t=60, '
        '"requests_per_holder";r=4;t=60, "seats_per_holder";r=7;t=300'
    )


def fill(world: World, quantity: int) -> httpx.Response:
    item: dict[str, Any] = {
        "cart_item_id": "1",
        "ticket_type_id": str(FLOOR),
        "quantity": quantity,
    }
    body = {"session_id": str(SESSION), "customer_email": "ann@example.com", "items": [item]}
    return world.call("PUT", "/api/carts/a/hold", json=body)
