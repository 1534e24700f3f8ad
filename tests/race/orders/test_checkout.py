"""Double clicks and repeated payments over HTTP, against two processes."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from uuid import uuid4

import pytest

from tests.support.auditing import assert_sound, rows
from tests.support.crowds import Crowd, Reply
from tests.support.databases import DatabaseFactory
from tests.support.platform import Json, Platform, Sale, new_platform
from tests.support.servers import RunningServer

CLICKS = 8
ROUNDS = 25


@pytest.fixture(scope="module")
def till(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    log = tmp_path_factory.mktemp("till") / "log"
    environment = {"HOLDFAST_PROCESSES": "2", "HOLDFAST_LOG_LEVEL": "warning"}
    with RunningServer(databases.fresh(), log, environment) as server:
        yield server


@pytest.fixture
def platform(till: RunningServer) -> Platform:
    return new_platform(till.base_url, till.database_url)


@pytest.fixture
def crowd(platform: Platform) -> Iterator[Crowd]:
    crowd = Crowd(platform, CLICKS)
    yield crowd
    crowd.close()


def two_holds(platform: Platform, sale: Sale) -> list[str]:
    """Two holds of one person."""
    person = f"user-{uuid4()}"
    holds = [platform.place(sale, 2, user_id=person) for _ in range(2)]
    return [hold.json()["hold_id"] for hold in holds]


def clicked(crowd: Crowd, path: str, bodies: list[Json], key: str | None = None) -> list[Reply]:
    return crowd.all_at_once(partial(_click, crowd, path, bodies, key))


def _click(crowd: Crowd, path: str, bodies: list[Json], key: str | None, number: int) -> Reply:
    return crowd.post(path, bodies[number % len(bodies)], key)


def orders_of(platform: Platform, till: RunningServer) -> int:
    query = "SELECT count(*) FROM purchase_order WHERE organization_id = %s"
    return int(rows(till.database_url, query, platform.organization_id)[0][0])


def test_concurrent_checkout_clicks_start_one_checkout(
    till: RunningServer, platform: Platform, crowd: Crowd
) -> None:
    sale = platform.on_sale(1000)
    for _ in range(ROUNDS):
        hold_ids = two_holds(platform, sale)
        bodies = [{"hold_ids": hold_ids}, {"hold_ids": hold_ids[::-1]}]
        replies = clicked(crowd, "/api/checkouts", bodies)
        assert Counter(reply.status for reply in replies) == {201: 1, 200: CLICKS - 1}
        assert len({reply.json()["checkout_id"] for reply in replies}) == 1
        assert len({reply.json()["expires_at"] for reply in replies}) == 1
        versions = {hold["version"] for reply in replies for hold in reply.json()["holds"]}
        assert versions == {2}, "extended once"
    assert_sound(till.database_url)


@pytest.mark.parametrize("is_keyed", [True, False])
def test_a_payment_reported_many_times_at_once_makes_one_order(
    till: RunningServer, platform: Platform, crowd: Crowd, is_keyed: bool
) -> None:
    sale = platform.on_sale(1000)
    for number in range(ROUNDS):
        checkout = platform.made("/api/checkouts", {"hold_ids": two_holds(platform, sale)})
        path = f"/api/checkouts/{checkout['checkout_id']}/complete"
        body = {"payment_reference": f"pay-{number}"}
        replies = clicked(crowd, path, [body], f"key-{number}" if is_keyed else None)
        assert {reply.status for reply in replies} <= {200, 201}
        assert len({reply.json()["order_id"] for reply in replies}) == 1
        codes = {tuple(t["code"] for t in reply.json()["tickets"]) for reply in replies}
        assert len(codes) == 1
        assert len(codes.pop()) == 4
        if is_keyed:
            assert len({reply.body for reply in replies}) == 1
    assert orders_of(platform, till) == ROUNDS
    assert_sound(till.database_url)


def test_two_payments_of_one_checkout_make_one_order_and_one_refusal(
    till: RunningServer, platform: Platform, crowd: Crowd
) -> None:
    sale = platform.on_sale(1000)
    for number in range(ROUNDS):
        checkout = platform.made("/api/checkouts", {"hold_ids": two_holds(platform, sale)})
        path = f"/api/checkouts/{checkout['checkout_id']}/complete"
        bodies: list[Json] = [{"payment_reference": f"pay-{number}-{n}"} for n in range(2)]
        replies = clicked(crowd, path, bodies)
        paid = {reply.json()["order_id"] for reply in replies if reply.status in {200, 201}}
        refused = [reply.json() for reply in replies if reply.status == 409]
        assert len(paid) == 1
        assert len(refused) == CLICKS / 2
        assert {problem["error"] for problem in refused} == {"already_paid"}
        assert {problem["order_id"] for problem in refused} == paid
    assert orders_of(platform, till) == ROUNDS
    assert_sound(till.database_url)


def test_a_hold_confirmed_many_times_at_once_makes_one_order(
    till: RunningServer, platform: Platform, crowd: Crowd
) -> None:
    sale = platform.on_sale(1000)
    for _ in range(ROUNDS):
        hold_id, other = two_holds(platform, sale)
        replies = clicked(crowd, f"/api/holds/{hold_id}/confirm", [{}])
        assert {reply.status for reply in replies} == {200}
        assert len({reply.json()["order_id"] for reply in replies}) == 1
        assert platform.client.post(f"/api/holds/{other}/release").status_code == 200
    assert orders_of(platform, till) == ROUNDS
    assert platform.available(sale) == [1000 - 2 * ROUNDS]
    assert_sound(till.database_url)
