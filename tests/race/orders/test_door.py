"""Orders are cancelled on one server while another looks up their tickets by code, as at the
door."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tests.e2e.paying import confirmed, held, ok, post, read
from tests.race.guards import ROUNDS_MAX
from tests.support.platform import Json, Platform
from tests.support.servers import RunningServer

ROUNDS = 20
TICKETS = 4
# The status of an order, its version, its number of void tickets, and the ticket at the door.
Seen = tuple[str, int, int, str]
VALID: Seen = ("confirmed", 1, 0, "valid")
ONE_VOID: Seen = ("partly_cancelled", 2, 1, "void")
ALL_VOID: Seen = ("cancelled", 3, TICKETS, "void")

MakeServer = Callable[..., RunningServer]


def seen_at(door: Platform, code: str) -> Seen:
    (order,) = read(door, "/api/orders", ticket_code=code)["data"]
    status_of = {ticket["code"]: ticket["status"] for ticket in order["tickets"]}
    void = list(status_of.values()).count("void")
    return (order["status"], order["version"], void, status_of[code])


def looks(
    platform: Platform, door: Platform, rounds: int
) -> Iterator[tuple[Seen, tuple[Seen, ...]]]:
    """Cancel the first ticket of an order, and then the others. Yield what the door sees of the
    first: while a cancellation runs, and once it was answered. With it, what it may see."""
    sale = platform.on_sale(TICKETS)
    with ThreadPoolExecutor(1) as office:
        for _ in range(rounds):
            order = ok(confirmed(platform, held(platform, sale, TICKETS)))["order"]
            path, ticket = f"/api/orders/{order['order_id']}/cancel", order["tickets"][0]
            steps: list[tuple[Json, Seen, Seen]] = [
                ({"ticket_ids": [ticket["ticket_id"]]}, VALID, ONE_VOID),
                ({}, ONE_VOID, ALL_VOID),
            ]
            for body, before, after in steps:
                reason = {"reason": "Ada fell ill"}
                running = office.submit(post, platform, path, body | reason)
                while not running.done():
                    yield seen_at(door, ticket["code"]), (before, after)
                ok(running.result())
                yield seen_at(door, ticket["code"]), (after,)


def door_of(make_server: MakeServer, platform: Platform, url: str, **environment: str) -> Platform:
    return replace(platform, base_url=make_server(url, **environment).start().base_url)


def test_the_door_sees_an_order_before_or_after_its_cancellation(
    make_server: MakeServer, platform: Platform, database_url: str
) -> None:
    door = door_of(make_server, platform, database_url)
    for seen, possible in looks(platform, door, ROUNDS):
        assert seen in possible


def test_control_orders_and_tickets_of_two_statements_do_not_agree(
    make_server: MakeServer, platform: Platform, database_url: str
) -> None:
    torn_reads = str(Path(__file__).parents[1] / "torn_reads")
    door = door_of(make_server, platform, database_url, PYTHONPATH=torn_reads)
    whole = {VALID, ONE_VOID, ALL_VOID}
    assert any(seen not in whole for seen, _ in looks(platform, door, ROUNDS_MAX))
