"""Clients that time out repeat their request, over HTTP, against two server processes: five at once
with one key, and once more afterwards."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from uuid import uuid4

import pytest

from tests.e2e.owner import Owner
from tests.support.auditing import assert_sound
from tests.support.crowds import Crowd, Reply
from tests.support.databases import DatabaseFactory
from tests.support.platform import Json, Platform, Sale, new_platform
from tests.support.servers import RunningServer

SENT = 5
ROUNDS = 6
AGES = 601


@pytest.fixture(scope="module")
def counter(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """A server without duties, so nothing expires in the background."""
    log = tmp_path_factory.mktemp("counter") / "log"
    environment = {
        "HOLDFAST_PROCESSES": "2",
        "HOLDFAST_LOG_LEVEL": "warning",
        "HOLDFAST_DUTIES": "none",
    }
    with RunningServer(databases.fresh(), log, environment) as server:
        yield server


@pytest.fixture
def platform(counter: RunningServer) -> Platform:
    return new_platform(counter.base_url, counter.database_url)


@pytest.fixture
def crowd(platform: Platform) -> Iterator[Crowd]:
    crowd = Crowd(platform, SENT)
    yield crowd
    crowd.close()


@dataclass(frozen=True)
class Request:
    verb: str
    path: str
    body: Json | None = None


@dataclass
class Buyer:
    """A buyer with a cart, and the requests it sends."""

    platform: Platform
    owner: Owner
    crowd: Crowd
    sale: Sale
    name: str = field(default_factory=lambda: uuid4().hex)

    @property
    def path(self) -> str:
        return f"/api/carts/{self.name}/hold"

    def placing(self) -> Request:
        named = {"session_id": self.sale.session_id, "user_id": self.name}
        asked = {"ticket_type_id": self.sale.ticket_type_id, "quantity": 2}
        return Request("POST", "/api/holds", named | asked)

    def filling(self, quantity: int = 2) -> Request:
        item = {
            "cart_item_id": "item",
            "ticket_type_id": self.sale.ticket_type_id,
            "quantity": quantity,
        }
        body = {"session_id": self.sale.session_id, "user_id": self.name, "items": [item]}
        return Request("PUT", self.path, body)

    def changing(self) -> Request:
        self.did(self.filling(3))
        return self.filling()

    def emptying(self) -> Request:
        self.did(self.filling())
        return Request("DELETE", self.path)

    def renewing(self) -> Request:
        self.did(self.filling())
        self.owner.let_pass(self.platform.organization_id, AGES)
        return Request("POST", f"{self.path}/renew")

    def checking_out(self) -> Request:
        self.did(self.filling())
        return Request("POST", "/api/checkouts", {"cart_token": self.name})

    def paying(self) -> Request:
        checkout = self.did(self.checking_out()).json()["checkout_id"]
        body = {"payment_reference": f"pay-{self.name}"}
        return Request("POST", f"/api/checkouts/{checkout}/complete", body)

    def did(self, request: Request) -> Reply:
        reply = self.crowd.send(request.verb, request.path, request.body)
        assert reply.status in {200, 201}, reply
        return reply

    def facts(self) -> list[str]:
        query = (
            "SELECT o.type FROM outbox o JOIN hold h"
            " ON h.organization_id = o.organization_id AND h.id = o.hold_id"
            " WHERE h.user_id = %s"
        )
        return sorted(kind for (kind,) in self.owner.rows(query, self.name))


# All facts after each request, including those of the steps before it.
FACTS: dict[Callable[[Buyer], Request], list[str]] = {
    Buyer.placing: ["hold.created"],
    Buyer.filling: ["hold.created"],
    Buyer.changing: ["hold.changed", "hold.created"],
    Buyer.emptying: ["hold.cancelled", "hold.created"],
    Buyer.renewing: ["hold.created", "hold.created", "hold.expired"],
    Buyer.checking_out: ["hold.created", "hold.extended"],
    Buyer.paying: ["hold.converted", "hold.created", "hold.extended", "order.confirmed"],
}


@pytest.mark.parametrize("asking", FACTS, ids=lambda each: each.__name__)
def test_five_concurrent_requests_with_one_key_have_one_effect_and_one_answer(
    counter: RunningServer,
    platform: Platform,
    crowd: Crowd,
    asking: Callable[[Buyer], Request],
) -> None:
    sale = platform.on_sale(1000)
    for _ in range(ROUNDS):
        buyer = Buyer(platform, Owner(counter.database_url), crowd, sale)
        request, key = asking(buyer), uuid4().hex

        def send(_: int, request: Request = request, key: str = key) -> Reply:
            return crowd.send(request.verb, request.path, request.body, key)

        replies = [*crowd.all_at_once(send), send(SENT)]
        assert len({(reply.status, reply.body) for reply in replies}) == 1, replies
        assert replies[0].status in {200, 201}, replies[0]
        assert sum(not reply.is_replay for reply in replies) == 1
        assert buyer.facts() == FACTS[asking]
    assert_sound(counter.database_url)


def test_control_without_a_key_each_request_makes_a_hold(
    counter: RunningServer, platform: Platform, crowd: Crowd
) -> None:
    buyer = Buyer(platform, Owner(counter.database_url), crowd, platform.on_sale(1000))
    request = buyer.placing()
    replies = crowd.all_at_once(lambda _: crowd.send(request.verb, request.path, request.body))
    assert len({reply.body for reply in replies}) == SENT
    assert buyer.facts() == ["hold.created"] * SENT
