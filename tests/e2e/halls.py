"""Halls with named blocks and rows, set up through the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

from tests.support.platform import Json, Platform, sent

ROWS: Mapping[str, Mapping[str, int]] = {"Stalls": {"A": 6, "B": 6}}


@dataclass(frozen=True)
class NamedHall:
    """A hall whose seats are addressed by name: `Stalls A 3`."""

    platform: Platform
    event_id: str
    session_id: str
    ticket_type_id: str
    block_ids: Mapping[str, str]
    seat_ids: Mapping[str, str]

    def seats(self, *names: str) -> list[str]:
        return [self.seat_ids[name] for name in names]

    def names(self, seat_ids: Sequence[str]) -> list[str]:
        known = {seat_id: name for name, seat_id in self.seat_ids.items()}
        return [known[seat_id] for seat_id in seat_ids]

    def seat_path(self, name: str) -> str:
        return f"/api/events/{self.event_id}/seats/{self.seat_ids[name]}"

    def read(self, name: str, **asking: str) -> Json:
        answer = self.platform.client.get(self.seat_path(name), **sent(**asking))
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def status(self, name: str) -> str:
        return str(self.read(name)["status"])

    def reserve(self, name: str, **body: Any) -> httpx.Response:
        headers = body.pop("headers", {})
        sent = body or {"customer_email": new_email()}
        path = f"{self.seat_path(name)}/reserve"
        return self.platform.client.post(path, json=sent, headers=headers)

    def hold(self, *names: str, **more: Any) -> httpx.Response:
        """Hold specific seats."""
        return self.ask(seat_ids=self.seats(*names), **more)

    def best(self, quantity: int, **more: Any) -> httpx.Response:
        """Hold the best available seats."""
        return self.ask(ticket_type_id=self.ticket_type_id, quantity=quantity, **more)

    def ask(self, **body: Any) -> httpx.Response:
        sent = {"session_id": self.session_id, "customer_email": new_email()} | body
        return self.platform.client.post("/api/holds", json=sent)

    def block(self, *names: str, reason: str = "Camera") -> httpx.Response:
        return self._change_blocking("block", names, reason)

    def unblock(self, *names: str, reason: str = "Camera gone") -> httpx.Response:
        return self._change_blocking("unblock", names, reason)

    def _change_blocking(self, verb: str, names: Sequence[str], reason: str) -> httpx.Response:
        body = {"seat_ids": self.seats(*names), "reason": reason}
        path = f"/api/sessions/{self.session_id}/seats/{verb}"
        return self.platform.client.post(path, json=body)

    def map(self, **query: Any) -> Json:
        path = f"/api/sessions/{self.session_id}/seats"
        answer = self.platform.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


@dataclass
class Builder:
    """Set the fields that differ, then call `build`."""

    platform: Platform
    rows: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: ROWS)
    event: Json = field(default_factory=dict)
    ticket_type: Json = field(default_factory=dict)
    blocks: Mapping[str, Json] = field(default_factory=dict)

    def build(self) -> NamedHall:
        made = self.platform.made
        event = made("/api/events", {"name": "Play", "currency": "EUR"} | self.event)
        session = made("/api/sessions", {"event_id": event["event_id"], "name": "Friday"})
        seated = {
            "session_id": session["session_id"],
            "name": "Seat",
            "price": 4500,
            "is_seated": True,
        }
        ticket_type = made("/api/ticket-types", seated | self.ticket_type)
        layouts = [
            {"name": name, "rows": [row], "seats_per_row": count} | self.blocks.get(name, {})
            for name, rows in self.rows.items()
            for row, count in rows.items()
        ]
        made(f"/api/sessions/{session['session_id']}/seats", {"blocks": layouts})
        hall = NamedHall(
            self.platform,
            event["event_id"],
            session["session_id"],
            ticket_type["ticket_type_id"],
            {},
            {},
        )
        seat_map = hall.map()
        return NamedHall(
            self.platform,
            event["event_id"],
            session["session_id"],
            ticket_type["ticket_type_id"],
            {block["name"]: block["block_id"] for block in seat_map["blocks"]},
            seats_of(seat_map),
        )


def build_hall(platform: Platform, **parts: Any) -> NamedHall:
    return Builder(platform, **parts).build()


def seats_of(seat_map: Json) -> dict[str, str]:
    return {
        f"{block['name']} {row['row']} {number}": row["seat_id_prefix"] + suffix
        for block in seat_map["blocks"]
        for row in block["rows"]
        for number, suffix in zip(row["seat_numbers"], row["seat_id_suffixes"], strict=True)
    }


def statuses_of(seat_map: Json) -> dict[str, str]:
    return {
        f"{block['name']} {row['row']} {number}": letter
        for block in seat_map["blocks"]
        for row in block["rows"]
        for number, letter in zip(row["seat_numbers"], row["status"], strict=True)
    }


def new_email() -> str:
    return f"buyer-{uuid4().hex[:8]}@example.com"
