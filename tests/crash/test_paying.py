"""kill -9 at each step of checkout, payment and cancellation: a repeated key gets the missed
answer, and there is one checkout, one order, one set of tickets and one fact of each."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

import pytest

from tests.crash.points import AFTER_COMMIT, POINTS, await_death, dying_server
from tests.support.auditing import assert_sound, rows
from tests.support.crowds import Crowd, Reply
from tests.support.databases import DatabaseFactory
from tests.support.platform import Hall, Json, Platform, Sale, new_platform
from tests.support.servers import RunningServer

NO_DUTIES = {"HOLDFAST_DUTIES": "none", "HOLDFAST_LOG_LEVEL": "warning"}


@pytest.fixture(scope="module")
def healthy(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """The server that runs afterwards."""
    log = tmp_path_factory.mktemp("healthy") / "log"
    with RunningServer(databases.fresh(), log, NO_DUTIES) as server:
        yield server


@dataclass
class Buyer:
    """Two holds of one person: a seat, and two standing tickets."""

    platform: Platform
    url: str
    hold_ids: list[str]

    def ask(self, server: RunningServer, path: str, body: Json, key: str) -> Reply:
        crowd = Crowd(replace(self.platform, base_url=server.base_url), 1)
        reply = crowd.post(path, body, key)
        crowd.close()
        return reply

    def seen(self, query: str) -> list[tuple[object, ...]]:
        return rows(self.url, query, self.platform.organization_id)

    def facts(self) -> Counter[tuple[object, ...]]:
        return Counter(
            self.seen("SELECT type, hold_id::text, version FROM outbox WHERE organization_id = %s")
        )

    def kinds(self) -> Counter[object]:
        found = self.seen("SELECT type FROM outbox WHERE organization_id = %s")
        return Counter(kind for (kind,) in found)

    def cancelled(self, parties: Sequence[str]) -> tuple[object, object, int, list[object]]:
        """The status and version of the only order, its number of void tickets, and the statuses of
        parties on the waitlist."""
        ((status, version),) = self.seen(
            "SELECT status, version FROM purchase_order WHERE organization_id = %s"
        )
        void = self.seen(
            "SELECT id FROM ticket WHERE organization_id = %s AND voided_at IS NOT NULL"
        )
        query = "SELECT id::text, status FROM hold WHERE organization_id = %s"
        status_of: dict[str, object] = {str(id_): each for id_, each in self.seen(query)}
        return status, version, len(void), [status_of[party] for party in parties]

    def versions(self) -> set[object]:
        query = "SELECT version FROM hold WHERE organization_id = %s"
        return {version for (version,) in self.seen(query)}


def holds_of_ada(platform: Platform, hall: Hall, sale: Sale) -> list[str]:
    seat = platform.made(
        "/api/holds",
        {"session_id": hall.session_id, "seat_ids": [hall.seat_ids[0]], "user_id": "ada"},
    )
    standing = platform.place(sale, 2, user_id="ada").json()
    return [seat["hold_id"], standing["hold_id"]]


@pytest.fixture
def buyer(healthy: RunningServer) -> Buyer:
    platform = new_platform(healthy.base_url, healthy.database_url)
    hold_ids = holds_of_ada(platform, platform.hall(1, 4), platform.on_sale(10))
    return Buyer(platform, healthy.database_url, hold_ids)


def assert_repeated(lost: Reply, again: Reply, third: Reply, point: str) -> None:
    """The first answer was lost; the repeats are identical."""
    assert lost.status == 0, "it was answered"
    assert again.status in {200, 201}, again.body
    assert again.is_replay is (point == AFTER_COMMIT)
    assert third.is_replay
    assert third.body == again.body


@pytest.mark.parametrize("point", POINTS)
def test_a_server_killed_during_checkout_starts_one_checkout(
    healthy: RunningServer,
    make_server: Callable[..., RunningServer],
    buyer: Buyer,
    point: str,
) -> None:
    dying = dying_server(make_server, buyer.url, "StartCheckout", point, **NO_DUTIES).start()
    body = {"hold_ids": buyer.hold_ids}
    lost = buyer.ask(dying, "/api/checkouts", body, "key-1")
    await_death(dying)
    assert buyer.versions() == ({2} if point == AFTER_COMMIT else {1})
    again, third = (buyer.ask(healthy, "/api/checkouts", body, "key-1") for _ in range(2))
    assert_repeated(lost, again, third, point)
    assert buyer.versions() == {2}, "extended once"
    assert buyer.seen("SELECT count(*) FROM checkout WHERE organization_id = %s") == [(1,)]
    extensions = {
        fact: count for fact, count in buyer.facts().items() if fact[0] == "hold.extended"
    }
    assert extensions == {("hold.extended", hold_id, 2): 1 for hold_id in buyer.hold_ids}
    assert_sound(buyer.url)


@pytest.mark.parametrize("point", POINTS)
def test_a_server_killed_during_payment_makes_one_order(
    healthy: RunningServer,
    make_server: Callable[..., RunningServer],
    buyer: Buyer,
    point: str,
) -> None:
    checkout = buyer.platform.made("/api/checkouts", {"hold_ids": buyer.hold_ids})
    path = f"/api/checkouts/{checkout['checkout_id']}/complete"
    body = {"payment_reference": "pay-1"}
    dying = dying_server(make_server, buyer.url, "ConvertHolds", point, **NO_DUTIES).start()
    lost = buyer.ask(dying, path, body, "key-1")
    await_death(dying)
    assert buyer.versions() == ({3} if point == AFTER_COMMIT else {2})
    again, third = (buyer.ask(healthy, path, body, "key-1") for _ in range(2))
    assert_repeated(lost, again, third, point)
    # Another key, or none, finds the same order.
    order = again.json()
    for key in ("key-2", "key-3"):
        assert buyer.ask(healthy, path, body, key).json()["order_id"] == order["order_id"]
    assert len(order["tickets"]) == 3
    seen = buyer.seen("SELECT code FROM ticket WHERE organization_id = %s ORDER BY position")
    assert seen == [(ticket["code"],) for ticket in order["tickets"]]
    assert buyer.seen("SELECT id::text FROM purchase_order WHERE organization_id = %s") == [
        (order["order_id"],)
    ]
    kinds = Counter(dict.fromkeys(("hold.converted", "seat.sold", "order.confirmed"), 0))
    for (kind, _, version), count in buyer.facts().items():
        if version == 3:
            kinds[str(kind)] += count
    assert kinds == {"hold.converted": 2, "seat.sold": 1, "order.confirmed": 1}
    assert_sound(buyer.url)


NOTHING = ("confirmed", 1, 0, ["waiting"] * 4, Counter[object]())
EVERYTHING = (
    "cancelled",
    2,
    3,
    ["active"] * 3 + ["waiting"],
    Counter[object](
        {
            "order.cancelled": 1,
            "ticket.voided": 3,
            "seat.released": 1,
            "hold.promoted": 3,
            "seat.held": 1,
        }
    ),
)


def waiting(platform: Platform, sold: Hall | Sale) -> str:
    """A party that waits for one place."""
    wanted = {"session_id": sold.session_id, "ticket_type_id": sold.ticket_type_id, "quantity": 1}
    answer = platform.client.post("/api/holds", json=wanted | {"user_id": uuid4().hex})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["hold_id"])


@pytest.mark.parametrize("point", POINTS)
def test_a_server_killed_during_a_cancellation_promotes_one_party_for_each_place(
    healthy: RunningServer, make_server: Callable[..., RunningServer], point: str
) -> None:
    """The buyer has the only seat and both standing places, for which four parties wait."""
    platform = new_platform(healthy.base_url, healthy.database_url)
    hall = platform.hall(1, 1, hold_policy={"waitlist": True})
    sale = platform.on_sale(2, hold_policy={"waitlist": True})
    buyer = Buyer(platform, healthy.database_url, holds_of_ada(platform, hall, sale))
    checkout = platform.made("/api/checkouts", {"hold_ids": buyer.hold_ids})
    paid = f"/api/checkouts/{checkout['checkout_id']}/complete"
    order = buyer.ask(healthy, paid, {"payment_reference": "pay-1"}, "key-1").json()
    parties = [waiting(platform, each) for each in (hall, sale, sale, sale)]
    path, body = f"/api/orders/{order['order_id']}/cancel", {"reason": "Ada fell ill"}
    facts = buyer.kinds()
    dying = dying_server(make_server, buyer.url, "CancelOrder", point, **NO_DUTIES).start()
    lost = buyer.ask(dying, path, body, "key-2")
    await_death(dying)
    happened = (*buyer.cancelled(parties), buyer.kinds() - facts)
    assert happened == (EVERYTHING if point == AFTER_COMMIT else NOTHING)
    again, third = (buyer.ask(healthy, path, body, "key-2") for _ in range(2))
    assert_repeated(lost, again, third, point)
    assert [ticket["status"] for ticket in again.json()["tickets"]] == ["void"] * 3
    assert (*buyer.cancelled(parties), buyer.kinds() - facts) == EVERYTHING
    assert_sound(buyer.url)
