"""One payment sent for ten holds at once, over HTTP, to two servers."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tests.support.auditing import assert_sound, rows
from tests.support.crowds import Crowd, Reply
from tests.support.databases import DatabaseFactory
from tests.support.platform import Platform, new_platform
from tests.support.servers import RunningServer

HOLDS = 10
ROUNDS = 15
SLOW = {
    "PYTHONPATH": str(Path(__file__).parents[1] / "slow_payments"),
    "HOLDFAST_PAYMENTS": "demo",
    "HOLDFAST_SECRET_KEY": "one till for both of the servers, made up for this test",
    "HOLDFAST_LOG_LEVEL": "error",
}

MakeServer = Callable[..., RunningServer]


class Tills:
    """Two servers with half of the buyers each, to control which server serves whom. Each hold has
    its own pool: the lock of a shared one would serialize them."""

    def __init__(self, url: str, make_server: MakeServer, **environment: str) -> None:
        one, other = (make_server(url, **SLOW, **environment).start() for _ in range(2))
        self.platform: Platform = new_platform(one.base_url, url)
        self.sale = self.platform.on_sale(*[ROUNDS] * HOLDS)
        there = replace(self.platform, base_url=other.base_url)
        self._crowds = [Crowd(each, HOLDS // 2) for each in (self.platform, there)]

    def rounds(self) -> Iterator[list[Reply]]:
        """Yield the answers to each payment."""
        try:
            with ThreadPoolExecutor(2) as both:
                for _ in range(ROUNDS):
                    yield self._paid_at_once(both)
        finally:
            for crowd in self._crowds:
                crowd.close()

    def _paid_at_once(self, both: ThreadPoolExecutor) -> list[Reply]:
        paid = self.platform.made("/api/demo/payments", {"amount": 4500, "currency": "EUR"})
        body = {"payment_reference": paid["payment_reference"]}
        holds = [
            self.platform.place(self.sale, ticket_type_id=each).json()["hold_id"]
            for each in self.sale.ticket_type_ids
        ]

        def pay(crowd: Crowd, hold_ids: list[str]) -> list[Reply]:
            return crowd.all_at_once(
                lambda number: crowd.post(f"/api/holds/{hold_ids[number]}/confirm", body)
            )

        halves = both.map(pay, self._crowds, (holds[: HOLDS // 2], holds[HOLDS // 2 :]))
        return [reply for replies in halves for reply in replies]


def test_one_payment_makes_one_order(databases: DatabaseFactory, make_server: MakeServer) -> None:
    url = databases.fresh()
    tills = Tills(url, make_server)
    for replies in tills.rounds():
        assert Counter(reply.status for reply in replies) == {200: 1, 409: HOLDS - 1}
        (made,) = (reply.json()["order_id"] for reply in replies if reply.status == 200)
        refused = [reply.json() for reply in replies if reply.status == 409]
        assert {problem["error"] for problem in refused} == {"payment_already_used"}
        assert {problem["order_id"] for problem in refused} == {made}
    orders = "SELECT count(*) FROM purchase_order GROUP BY payment_reference"
    assert rows(url, orders) == [(1,)] * ROUNDS
    assert_sound(url)


def test_control_without_the_payment_lock_it_makes_two(
    databases: DatabaseFactory, make_server: MakeServer
) -> None:
    tills = Tills(databases.fresh(), make_server, PAYMENTS_UNLOCKED="yes")
    made = (sum(reply.status == 200 for reply in replies) for replies in tills.rounds())
    assert any(orders > 1 for orders in made)
