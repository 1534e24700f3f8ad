"""kill -9 at each step of filling a cart, of renewing it, and of letting go of places that somebody
waits for: whoever repeats their key gets the answer that they missed, and it happened once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.engine import Admission
from holdfast.services.holds.reaper import Reaper
from tests.crash.points import AFTER_COMMIT, BEFORE_COMMIT, POINTS, await_death, dying_server
from tests.e2e.owner import Owner
from tests.support.auditing import assert_sound, rows
from tests.support.crowds import Crowd, Reply
from tests.support.databases import DatabaseFactory
from tests.support.patience import PATIENT
from tests.support.platform import Json, Platform, Sale, new_platform
from tests.support.servers import RunningServer

NO_DUTIES = {"HOLDFAST_DUTIES": "none", "HOLDFAST_LOG_LEVEL": "warning"}
AGES = 601
CART = "/api/carts/mine/hold"


@pytest.fixture(scope="module")
def healthy(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """The server that is there afterwards."""
    log = tmp_path_factory.mktemp("healthy") / "log"
    with RunningServer(databases.fresh(), log, NO_DUTIES) as server:
        yield server


@dataclass
class Shop:
    """A platform with one buyer, and the server that it asks."""

    platform: Platform
    url: str
    make_server: Callable[..., RunningServer]

    def asked(self, base_url: str, verb: str, path: str, body: Json | None) -> Reply:
        crowd = Crowd(replace(self.platform, base_url=base_url), 1)
        reply = crowd.send(verb, path, body, "key-1")
        crowd.close()
        return reply

    def ask_in_vain(
        self, command: str, point: str, verb: str, path: str, body: Json | None = None
    ) -> None:
        """Of a server that dies on it."""
        dying = dying_server(self.make_server, self.url, command, point, **NO_DUTIES).start()
        assert self.asked(dying.base_url, verb, path, body).status == 0, "it was answered"
        await_death(dying)

    def ask_again(
        self, status: int, was_done: bool, verb: str, path: str, body: Json | None = None
    ) -> Json:
        """Twice: the second is the first, byte for byte, and so is the first where it was done
        before the server died."""
        again, third = (self.asked(self.platform.base_url, verb, path, body) for _ in range(2))
        assert again.status == status, again.body
        assert again.is_replay is was_done
        assert third.is_replay
        assert (third.status, third.body) == (again.status, again.body)
        return again.json()

    def write_down_ends(self) -> None:
        """As the reaper does."""
        engine = Admission(PostgresStore(self.url), PATIENT)
        engine.start()
        database = Database(self.url)
        database.open()
        assert Reaper(PostgresHolds(database), engine).run_once().processed_successfully
        database.close()
        engine.stop()

    def fill_body(self, sale: Sale, quantity: int) -> Json:
        item = {
            "cart_item_id": "item-1",
            "ticket_type_id": sale.ticket_type_id,
            "quantity": quantity,
        }
        return {"session_id": sale.session_id, "user_id": "ada", "items": [item]}

    def holds(self) -> list[tuple[object, ...]]:
        """The oldest first: id, status, quantity and version."""
        query = (
            "SELECT id::text, status, quantity, version FROM hold WHERE organization_id = %s"
            " ORDER BY created_at"
        )
        return self.seen(query)

    def facts(self) -> list[str]:
        query = "SELECT type FROM outbox WHERE organization_id = %s ORDER BY occurred_at, xid, seq"
        return [str(kind) for (kind,) in self.seen(query)]

    def seen(self, query: str) -> list[tuple[object, ...]]:
        return rows(self.url, query, self.platform.organization_id)


@pytest.fixture
def shop(healthy: RunningServer, make_server: Callable[..., RunningServer]) -> Shop:
    platform = new_platform(healthy.base_url, healthy.database_url)
    return Shop(platform, healthy.database_url, make_server)


@pytest.mark.parametrize("point", POINTS)
def test_a_server_killed_while_it_makes_a_cart_smaller(shop: Shop, point: str) -> None:
    """There is somebody who waits for what it gives up."""
    sale = shop.platform.on_sale(3, hold_policy={"waitlist": True})
    assert shop.platform.client.put(CART, json=shop.fill_body(sale, 3)).status_code == 201
    assert shop.platform.place(sale, 2).status_code == 202
    less = ("PUT", CART, shop.fill_body(sale, 1))
    shop.ask_in_vain("FillCart", point, *less)
    before, after = ["active", "waiting"], ["active", "active"]
    assert [hold[1] for hold in shop.holds()] == (after if point == AFTER_COMMIT else before)
    answer = shop.ask_again(200, point == AFTER_COMMIT, *less)
    assert (answer["quantity"], answer["version"]) == (1, 2)
    assert [hold[1:] for hold in shop.holds()] == [("active", 1, 2), ("active", 2, 2)]
    made = ["hold.created", "hold.waiting"]
    assert shop.facts() == [*made, "hold.changed", "hold.promoted"]
    assert_sound(shop.url)


@pytest.mark.parametrize("point", POINTS)
def test_a_server_killed_while_it_fills_a_cart(shop: Shop, point: str) -> None:
    sale = shop.platform.on_sale(10)
    filling = ("PUT", CART, shop.fill_body(sale, 2))
    shop.ask_in_vain("FillCart", point, *filling)
    assert len(shop.holds()) == (1 if point == AFTER_COMMIT else 0)
    answer = shop.ask_again(201, point == AFTER_COMMIT, *filling)
    assert shop.holds() == [(answer["hold_id"], "active", 2, 1)]
    assert shop.facts() == ["hold.created"]
    assert shop.platform.available(sale) == [8]
    assert_sound(shop.url)


@pytest.mark.parametrize(
    ("point", "is_end_written"),
    [(BEFORE_COMMIT[-1], True), (AFTER_COMMIT, True), (AFTER_COMMIT, False)],
)
def test_a_server_killed_while_it_renews_a_cart(
    shop: Shop, point: str, is_end_written: bool
) -> None:
    """Where nobody had written down the end of the old hold, that is committed first, and the new
    one is still to be made."""
    sale = shop.platform.on_sale(10)
    assert shop.platform.client.put(CART, json=shop.fill_body(sale, 2)).status_code == 201
    Owner(shop.url).let_pass(shop.platform.organization_id, AGES)
    if is_end_written:
        shop.write_down_ends()
    renewal = ("POST", f"{CART}/renew")
    shop.ask_in_vain("RenewCart", point, *renewal)
    was_done = is_end_written and point == AFTER_COMMIT
    assert len(shop.holds()) == (2 if was_done else 1)
    answer = shop.ask_again(201, was_done, *renewal)
    assert [hold[1:3] for hold in shop.holds()] == [("expired", 2), ("active", 2)]
    assert shop.holds()[1][0] == answer["hold_id"]
    assert shop.facts() == ["hold.created", "hold.expired", "hold.created"]
    assert shop.platform.available(sale) == [8]
    assert_sound(shop.url)


@pytest.mark.parametrize("point", POINTS)
def test_a_server_killed_while_it_gives_a_freed_place_to_the_next(shop: Shop, point: str) -> None:
    """Neither let go nor given away, or both."""
    sale = shop.platform.on_sale(1, hold_policy={"waitlist": True})
    held = shop.platform.place(sale).json()["hold_id"]
    next_ = shop.platform.place(sale).json()["hold_id"]
    release = ("POST", f"/api/holds/{held}/release")
    shop.ask_in_vain("ReleaseHold", point, *release)
    before = [(held, "active", 1, 1), (next_, "waiting", 1, 1)]
    after = [(held, "cancelled", 1, 2), (next_, "active", 1, 2)]
    assert shop.holds() == (after if point == AFTER_COMMIT else before)
    assert shop.ask_again(200, point == AFTER_COMMIT, *release)["status"] == "cancelled"
    assert shop.holds() == after
    assert shop.facts() == ["hold.created", "hold.waiting", "hold.cancelled", "hold.promoted"]
    assert_sound(shop.url)
