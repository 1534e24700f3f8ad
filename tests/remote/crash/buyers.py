"""Buyers of a sale whose tickets are in the Inventory Service."""

from dataclasses import dataclass, field, replace
from uuid import uuid4

from tests.e2e.owner import Owner
from tests.remote.agreement import ABSENT, OURS, THEIRS, sides
from tests.remote.layout import TwoServices
from tests.support.crowds import Crowd, Reply
from tests.support.platform import Json, Platform, Sale
from tests.support.servers import RunningServer

STOCK = 10


@dataclass
class Buyer:
    """One person, who buys two tickets and repeats a request that was not answered."""

    services: TwoServices
    stock: int = STOCK
    platform: Platform = field(init=False)
    sale: Sale = field(init=False)
    hold_id: str = ""
    asked: tuple[str, Json, str] = ("", {}, "")

    def __post_init__(self) -> None:
        self.platform = self.services.platform()
        self.sale = self.platform.on_sale(self.stock)
        self.services.stock(self.sale, self.stock)

    def places(self, server: RunningServer | None = None) -> Reply:
        reply = self._ask("/api/holds", self.platform.hold_body(self.sale, 2), server)
        if reply.status == 201:
            self.hold_id = reply.json()["hold_id"]
        return reply

    def releases(self, server: RunningServer | None = None) -> Reply:
        return self._ask(f"/api/holds/{self.hold_id}/release", {}, server)

    def pays(self, server: RunningServer | None = None) -> Reply:
        body = {"payment_reference": "pay-1"}
        return self._ask(f"/api/holds/{self.hold_id}/confirm", body, server)

    def repeats(self) -> Reply:
        """The last request, with the same key, on the healthy service."""
        return self._send(self.services.holds)

    def lets_it_lapse(self) -> None:
        Owner(self.services.holds.database_url).let_pass(self.platform.organization_id, 601)

    def here(self) -> list[str]:
        return [side[0] for side in self._statuses()]

    def there(self) -> list[str]:
        return [side[1] for side in self._statuses()]

    def _ask(self, path: str, body: Json, server: RunningServer | None) -> Reply:
        self.asked = (path, body, uuid4().hex)
        return self._send(server or self.services.holds)

    def _send(self, server: RunningServer) -> Reply:
        crowd = Crowd(replace(self.platform, base_url=server.base_url), 1)
        reply = crowd.post(*self.asked)
        crowd.close()
        return reply

    def _statuses(self) -> list[tuple[str, str]]:
        """Of each of their holds, here and there."""
        theirs = sides(self.services.inventory.database_url, THEIRS)
        ours = sides(self.services.holds.database_url, OURS)
        return sorted(
            (side.status, theirs.get(hold_id, ABSENT).status)
            for hold_id, side in ours.items()
            if side.session_id == self.sale.session_id
        )
