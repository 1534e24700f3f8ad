"""A Hold Service's view of an Inventory Service: one item, and calls about holds."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

from tests.support.platform import Platform


def an_id() -> str:
    return str(uuid4())


@dataclass
class Store:
    platform: Platform
    session_id: str = field(default_factory=an_id)
    ticket_type_id: str = field(default_factory=an_id)

    @property
    def client(self) -> httpx.Client:
        return self.platform.client

    def stock(self, total: int, ticket_type_id: str | None = None) -> httpx.Response:
        return self.client.put(self._item(ticket_type_id), json={"total": total})

    def counts(self, ticket_type_id: str | None = None) -> tuple[int, int, int, int]:
        """Total, available, held and committed."""
        answer = self.client.get(self._item(ticket_type_id))
        assert answer.status_code == 200, answer.text
        item = answer.json()
        return (item["total"], item["available"], item["held"], item["committed"])

    def _item(self, ticket_type_id: str | None) -> str:
        return f"/inventory/items/{self.session_id}/{ticket_type_id or self.ticket_type_id}"

    def hold(self, hold_id: str, quantity: int = 1, **more: Any) -> httpx.Response:
        return self._send("hold", hold_id, lines=self.lines(quantity), **more)

    def release(self, hold_id: str, **more: Any) -> httpx.Response:
        return self._send("release", hold_id, **more)

    def commit(self, hold_id: str, quantity: int = 1, **more: Any) -> httpx.Response:
        return self._send("commit", hold_id, lines=self.lines(quantity), **more)

    def _send(self, call: str, hold_id: str, **body: Any) -> httpx.Response:
        about = {"hold_id": hold_id, "session_id": self.session_id}
        return self.client.post(f"/inventory/{call}", json=about | body)

    def lines(self, quantity: int) -> list[dict[str, Any]]:
        if not quantity:
            return []
        return [{"ticket_type_id": self.ticket_type_id, "quantity": quantity}]

    def reservation(self, hold_id: str) -> httpx.Response:
        return self.client.get(f"/inventory/holds/{hold_id}")

    def listed(self, **query: Any) -> Iterable[dict[str, Any]]:
        """Of all pages."""
        page = self.client.get("/inventory/holds", params=query).json()
        yield from page["data"]
        while page["has_more"]:
            page = self.client.get(
                "/inventory/holds", params=query | {"after": page["next"]}
            ).json()
            yield from page["data"]
