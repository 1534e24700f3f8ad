"""Concurrent HTTP clients against a server of two processes."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest

from tests.support.auditing import assert_sound
from tests.support.crowds import Crowd, Reply
from tests.support.databases import DatabaseFactory
from tests.support.platform import Platform, Sale, new_platform
from tests.support.servers import RunningServer


@pytest.fixture(scope="module")
def busy_server(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    log = tmp_path_factory.mktemp("busy") / "log"
    environment = {"HOLDFAST_PROCESSES": "2", "HOLDFAST_LOG_LEVEL": "warning"}
    with RunningServer(databases.fresh(), log, environment) as server:
        yield server


@pytest.fixture
def busy_platform(busy_server: RunningServer) -> Platform:
    return new_platform(busy_server.base_url, busy_server.database_url)


def test_twenty_clients_want_ten_tickets_and_ten_get_one(
    busy_server: RunningServer, busy_platform: Platform
) -> None:
    sale = busy_platform.on_sale(10)
    crowd = Crowd(busy_platform, 20)
    for _ in range(200):
        bodies = [busy_platform.hold_body(sale) for _ in range(20)]
        replies = crowd.all_at_once(partial(_place_one_of, crowd, bodies))
        assert Counter(reply.status for reply in replies) == {201: 10, 409: 10}
        refused = [reply.json() for reply in replies if reply.status == 409]
        assert {refusal["error"] for refusal in refused} == {"insufficient_inventory"}
        assert {refusal["available_quantity"] for refusal in refused} == {0}
        sale = _another_type(busy_platform, sale)
    crowd.close()
    assert_sound(busy_server.database_url)


def test_a_hundred_holds_at_once_succeed(
    busy_server: RunningServer, busy_platform: Platform
) -> None:
    sale = busy_platform.on_sale(1000)
    crowd = Crowd(busy_platform, 100)
    replies = crowd.all_at_once(lambda _: crowd.place(busy_platform.hold_body(sale)))
    crowd.close()
    assert [reply.status for reply in replies] == [201] * 100
    references = {reply.json()["reference"] for reply in replies}
    assert len(references) == 100
    assert busy_platform.available(sale) == [900]
    assert_sound(busy_server.database_url)


def test_one_key_sent_many_times_at_once_holds_once(
    busy_server: RunningServer, busy_platform: Platform
) -> None:
    sale = busy_platform.on_sale(1000)
    crowd = Crowd(busy_platform, 20)
    for number in range(20):
        bodies = [busy_platform.hold_body(sale)] * 20
        replies = crowd.all_at_once(partial(_place_one_of, crowd, bodies, key=f"key-{number}"))
        assert {reply.status for reply in replies} == {201}
        assert len({reply.body for reply in replies}) == 1
        assert sum(not reply.is_replay for reply in replies) == 1
    crowd.close()
    assert busy_platform.available(sale) == [980]
    assert_sound(busy_server.database_url)


def test_holds_over_several_pools_in_opposite_order_all_succeed(
    busy_server: RunningServer, busy_platform: Platform
) -> None:
    sale = busy_platform.on_sale(500, 500, 500)
    crowd = Crowd(busy_platform, 16)

    def lines(number: int) -> dict[str, object]:
        ids = sale.ticket_type_ids if number % 2 else sale.ticket_type_ids[::-1]
        return {
            "session_id": sale.session_id,
            "lines": [{"ticket_type_id": id_, "quantity": 1} for id_ in ids],
            "user_id": f"user-{number}",
        }

    replies = crowd.spread(lambda number: crowd.place(lines(number)), range(400))
    crowd.close()
    assert {reply.status for reply in replies} == {201}
    assert busy_platform.available(sale) == [100, 100, 100]
    assert_sound(busy_server.database_url)


def _place_one_of(
    crowd: Crowd, bodies: list[dict[str, object]], number: int, key: str | None = None
) -> Reply:
    return crowd.place(bodies[number], key)


def _another_type(platform: Platform, sale: Sale) -> Sale:
    made = platform.made(
        "/api/ticket-types",
        {"session_id": sale.session_id, "name": "Next", "price": 100, "capacity": 10},
    )
    return Sale(sale.event_id, sale.session_id, (made["ticket_type_id"],))
