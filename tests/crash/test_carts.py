"""kill -9 at each step of filling a cart, renewing it, and releasing places that others wait for: a
repeated key gets the missed answer, and the effect happened once."""

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
    """The server that runs afterwards."""
    log = tmp_path_factory.mktemp("healthy") / "log"
    with RunningServer(databases.fresh(), log, NO_DUTIES) as server:
        yield server


@dataclass
class Shop:
    """A platform with one buyer and one server."""

    platform: Platform
    url: str
    make_server: Callable[..., RunningServer]

    def asked(self, base_url: str, verb: str, path: str, body: Json | None) -> Reply:
        crowd = Crowd(replace(self.platform, base_url=base_url), 1)
        reply = crowd.send(verb, path, body, "key-1")
        crowd.close()
        return reply

    def send_and_die(
        self, command: str, point: str, verb: str, path: str, body: Json | None = None
    ) -> None:
        """Send the request to a server that dies while handling it."""
        dying = dying_server(self.make_server, self.url, command, point, **NO_DUTIES).start()
        assert self.asked(dying.base_url, verb, path, body).status == 0, "it was answered"
        await_death(dying)

    def ask_again(
        self, status: int, was_done: bool, verb: str, path: str, body: Json | None = None
    ) -> Json:
        """Repeat the request twice: the second answer equals the first, and both are replays if the
        killed server had committed."""
        again, third = (self.asked(self.platform.base_url, verb, path, body) for _ in range(2))
        assert again.status == status, again.body
        assert again.is_replay is was_done
        assert third.is_replay
        assert (third.status, third.body) == (again.status, again.body)
        return again.json()

    def expire_holds(self) -> None:
        """Expire holds as the reaper does."""
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
        """Id, status, quantity and version, oldest first."""
        query = (
            "SELECT id::text, status, quantity, version FROM hold WHERE organization_id = %s"
            " ORDER BY created_at"
        )
        return self.seen(query)

    def facts(self) -> list[str]:
        query = (
            "SELECT type FROM outbox WHERE organization_id = %s AND hold_id IS NOT NULL"
            " ORDER BY occurred_at, xid, seq"
        )
        return [str(kind) for (kind,) in self.seen(query)]

    def seen(self, query: str) -> list[tuple[object, ...]]:
        return rows(self.url, query, self.platform.organization_id)


@pytest.fixture
def shop(healthy: RunningServer, make_server: Callable[..., RunningServer]) -> Shop:
    platform = new_platform(healthy.base_url, healthy.database_url)
    return Shop(platform, healthy.database_url, make_server)


@pytest.mark.parametrize("point", POINTS)
def test_a_server_killed_while_shrinking_a_cart_loses_nothing(shop: Shop, point: str) -> None:
    """Somebody waits for the places it gives up."""
    sale = shop.platform.on_sale(3, hold_policy={"waitlist": True})
    assert shop.platform.client.put(CART, json=shop.fill_body(sale, 3)).status_code == 201
    assert shop.platform.place(sale, 2).status_code == 202
    less = ("PUT", CART, shop.fill_body(sale, 1))
    shop.send_and_die("FillCart", point, *less)
    before, after = ["active", "waiting"], ["active", "active"]
    assert [hold[1] for hold in shop.holds()] == (after if point == AFTER_COMMIT else before)
    answer = shop.ask_again(200, point == AFTER_COMMIT, *less)
    assert (answer["quantity"], answer["version"]) == (1, 2)
    assert [hold[1:] for hold in shop.holds()] == [("active", 1, 2), ("active", 2, 2)]
    made = ["hold.created", "hold.waiting"]
    assert shop.facts() == [*made, "hold.changed", "hold.promoted"]
    assert_sound(shop.url)


@pytest.mark.parametrize("point", POINTS)
def test_a_server_killed_while_filling_a_cart_loses_nothing(shop: Shop, point: str) -> None:
    sale = shop.platform.on_sale(10)
    filling = ("PUT", CART, shop.fill_body(sale, 2))
    shop.send_and_die("FillCart", point, *filling)
    assert len(shop.holds()) == (1 if point == AFTER_COMMIT else 0)
    answer = shop.ask_again(201, point == AFTER_COMMIT, *filling)
    assert shop.holds() == [(answer["hold_id"], "active", 2, 1)]
    assert shop.facts() == ["hold.created"]
    assert shop.platform.available(sale) == [8]
    assert_sound(shop.url)


@pytest.mark.parametrize(
    ("point", "is_end_written"),
    [
        (BEFORE_COMMIT[-1], True),
        (AFTER_COMMIT, True),
        pytest.param(AFTER_COMMIT, False, marks=pytest.mark.long),
    ],
)
def test_a_server_killed_while_renewing_a_cart_loses_nothing(
    shop: Shop, point: str, is_end_written: bool
) -> None:
    """The expiry of the old hold, if not yet recorded, is committed before the new hold is made."""
    sale = shop.platform.on_sale(10)
    assert shop.platform.client.put(CART, json=shop.fill_body(sale, 2)).status_code == 201
    Owner(shop.url).let_pass(shop.platform.organization_id, AGES)
    if is_end_written:
        shop.expire_holds()
    renewal = ("POST", f"{CART}/renew")
    shop.send_and_die("RenewCart", point, *renewal)
    was_done = is_end_written and point == AFTER_COMMIT
    assert len(shop.holds()) == (2 if was_done else 1)
    answer = shop.ask_again(201, was_done, *renewal)
    assert [hold[1:3] for hold in shop.holds()] == [("expired", 2), ("active", 2)]
    assert shop.holds()[1][0] == answer["hold_id"]
    assert shop.facts() == ["hold.created", "hold.expired", "hold.created"]
    assert shop.platform.available(sale) == [8]
    assert_sound(shop.url)


@pytest.mark.parametrize("point", POINTS)
def test_a_server_killed_while_promoting_does_all_or_nothing(shop: Shop, point: str) -> None:
    """The place is released and given to the next, or neither."""
    sale = shop.platform.on_sale(1, hold_policy={"waitlist": True})
    held = shop.platform.place(sale).json()["hold_id"]
    next_ = shop.platform.place(sale).json()["hold_id"]
    release = ("POST", f"/api/holds/{held}/release")
    shop.send_and_die("ReleaseHold", point, *release)
    before = [(held, "active", 1, 1), (next_, "waiting", 1, 1)]
    after = [(held, "cancelled", 1, 2), (next_, "active", 1, 2)]
    assert shop.holds() == (after if point == AFTER_COMMIT else before)
    assert shop.ask_again(200, point == AFTER_COMMIT, *release)["status"] == "cancelled"
    assert shop.holds() == after
    assert shop.facts() == ["hold.created", "hold.waiting", "hold.cancelled", "hold.promoted"]
    assert_sound(shop.url)
