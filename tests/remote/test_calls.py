"""Calls to an Inventory Service that is slow, broken or hostile end in time, and nothing that it
says is believed without a check."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from uuid import uuid4

import pytest

from holdfast.adapters.inventory import calls
from holdfast.adapters.inventory.client import HttpInventory
from holdfast.domain.ids import HoldId, SessionId, TicketTypeId
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.ports.inventory.service import (
    InventoryConflict,
    InventoryUnavailable,
    Reservation,
)
from tests.support.patience import PATIENCE_SECONDS

Serve = Callable[[socket.socket], None]
TYPE = TicketTypeId(uuid4())


class Rogue:
    """Answers each connection as the next of `answers` says; the last one repeats."""

    def __init__(self) -> None:
        self.answers: list[Serve] = []
        self.requests: list[bytes] = []
        self.is_over = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            self.requests.append(connection.recv(65_536))
            serve = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            serve(connection)

    def repeat(self, part: bytes, pause_seconds: float = 0.0) -> Serve:
        def serve(connection: socket.socket) -> None:
            while not self.is_over.wait(pause_seconds):
                connection.sendall(part)

        return serve

    def after(self, first: bytes, then: Serve) -> Serve:
        def serve(connection: socket.socket) -> None:
            connection.sendall(first)
            then(connection)

        return serve

    def close(self) -> None:
        self.is_over.set()
        self._listening.close()


def answering(status: int, body: object, *headers: str) -> Serve:
    content = json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(content)}", *headers]

    def serve(connection: socket.socket) -> None:
        connection.sendall("\r\n".join([*head, "Connection: close", "", ""]).encode() + content)

    return serve


def hanging_up(_: socket.socket) -> None:
    """Without an answer."""


@pytest.fixture
def rogue() -> Iterator[Rogue]:
    rogue = Rogue()
    yield rogue
    rogue.close()


@pytest.fixture
def inventory(rogue: Rogue) -> Iterator[HttpInventory]:
    inventory = HttpInventory(rogue.url, "the-key-of-the-service")
    yield inventory
    inventory.close()


@pytest.fixture
def asked() -> Reservation:
    return Reservation(HoldId(uuid4()), SessionId(uuid4()), {TYPE: 2})


def as_json(reservation: Reservation, **other: object) -> dict[str, object]:
    lines = [{"ticket_type_id": str(TYPE), "quantity": 2}]
    ids = {"hold_id": str(reservation.hold_id), "session_id": str(reservation.session_id)}
    return {**ids, "status": "held", "lines": lines, **other}


OK = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
ENDLESS = {
    "headers that trickle": (OK + b"x-a: ", b"a", 0.05),
    "provisional answers": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.01),
    "a body that trickles": (OK + b"Content-Length: 1000000\r\n\r\n", b" ", 0.05),
    "silence": (b"", b"", 0.05),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_an_answer_without_an_end_is_given_up(
    inventory: HttpInventory,
    rogue: Rogue,
    asked: Reservation,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "CALL_SECONDS_MAX", 0.5)
    first, part, pause_seconds = ENDLESS[name]
    rogue.answers = [rogue.after(first, rogue.repeat(part, pause_seconds))]
    started = time.monotonic()
    with pytest.raises(InventoryUnavailable):
        inventory.hold(asked)
    assert time.monotonic() - started < PATIENCE_SECONDS, "it would never have ended"


def test_a_body_that_is_too_long_is_not_read(
    inventory: HttpInventory, rogue: Rogue, asked: Reservation
) -> None:
    head = OK + b"Transfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    rogue.answers = [rogue.after(head, rogue.repeat(chunk))]
    with pytest.raises(InventoryUnavailable, match="too long"):
        inventory.hold(asked)


def test_a_compressed_answer_is_not_unpacked(
    inventory: HttpInventory, rogue: Rogue, asked: Reservation
) -> None:
    rogue.answers = [answering(201, as_json(asked), "Content-Encoding: gzip")]
    assert inventory.hold(asked).refusal is None, "as it is, it can be read"
    assert b"accept-encoding: identity" in rogue.requests[0].lower()


@pytest.mark.parametrize(
    "other",
    [
        {"status": "released", "lines": []},
        {"status": "released"},
        {"lines": []},
        {"hold_id": str(uuid4())},
        {"session_id": str(uuid4())},
        {"lines": [{"ticket_type_id": str(TYPE), "quantity": 1}]},
    ],
)
def test_only_the_reservation_that_was_asked_for_counts(
    inventory: HttpInventory, rogue: Rogue, asked: Reservation, other: dict[str, object]
) -> None:
    rogue.answers = [answering(201, as_json(asked, **other))]
    with pytest.raises(InventoryUnavailable, match="reservation"):
        inventory.hold(asked)


def test_a_sold_reservation_is_a_repeat(
    inventory: HttpInventory, rogue: Rogue, asked: Reservation
) -> None:
    rogue.answers = [answering(200, as_json(asked, status="committed"))]
    assert inventory.hold(asked).refusal is None


@pytest.mark.parametrize("first", [hanging_up, answering(503, {})])
def test_a_failure_that_may_pass_is_tried_again_and_leaves_a_doubt(
    inventory: HttpInventory, rogue: Rogue, asked: Reservation, first: Serve
) -> None:
    """The first attempt may have had its effect, or may still have it."""
    too_few = {"error": "insufficient_inventory", "available_quantity": 1}
    rogue.answers = [first, answering(409, too_few)]
    answer = inventory.hold(asked)
    assert answer.refusal is not None
    assert answer.refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert not answer.is_certain
    rogue.answers = [answering(409, too_few)]
    assert inventory.hold(asked).is_certain


def test_attempts_are_bounded(inventory: HttpInventory, rogue: Rogue, asked: Reservation) -> None:
    rogue.answers = [answering(503, {})]
    with pytest.raises(InventoryUnavailable, match="503"):
        inventory.hold(asked)
    assert len(rogue.requests) == calls.ATTEMPTS_MAX


def test_a_redirect_is_not_followed_and_cookies_are_not_kept(
    inventory: HttpInventory, rogue: Rogue, asked: Reservation
) -> None:
    elsewhere = "Location: http://127.0.0.1:1/inventory/hold"
    rogue.answers = [answering(307, {}, elsewhere, "Set-Cookie: a=b")]
    for _ in range(2):
        with pytest.raises(InventoryUnavailable, match="307"):
            inventory.hold(asked)
    assert not any(b"cookie" in request.lower() for request in rogue.requests)


@pytest.mark.parametrize(
    ("problem", "is_conflict"),
    [
        ((409, "invalid_hold_state"), True),
        ((422, "idempotency_key_reused"), True),
        ((400, "invalid_session"), True),
        ((409, "request_in_progress"), False),
        ((404, ""), False),
        ((401, "unauthorized"), False),
        ((429, "too_many_requests"), False),
        ((409, "x" * 100_000), False),
    ],
)
def test_only_a_refusal_about_the_hold_is_final(
    inventory: HttpInventory,
    rogue: Rogue,
    asked: Reservation,
    problem: tuple[int, str],
    is_conflict: bool,
) -> None:
    status, code = problem
    rogue.answers = [answering(status, {"error": code})]
    expected = InventoryConflict if is_conflict else InventoryUnavailable
    with pytest.raises(expected) as caught:
        inventory.release(asked)
    assert len(str(caught.value)) < 100, "it is logged"


@pytest.mark.parametrize("quantity", [-1, 10**30, "many"])
def test_numbers_that_cannot_be_are_not_shown(
    inventory: HttpInventory, rogue: Rogue, asked: Reservation, quantity: object
) -> None:
    item = {"ticket_type_id": str(TYPE), "total": quantity, "available": quantity}
    rogue.answers = [answering(200, {"data": [{**item, "held": 0, "committed": 0}]})]
    with pytest.raises(InventoryUnavailable):
        inventory.items(asked.session_id)


def test_json_that_is_too_deep_is_refused(
    inventory: HttpInventory, rogue: Rogue, asked: Reservation
) -> None:
    deep = b"[" * 100_000
    head = OK + f"Content-Length: {len(deep)}\r\nConnection: close\r\n\r\n".encode()
    rogue.answers = [lambda connection: connection.sendall(head + deep)]
    with pytest.raises(InventoryUnavailable):
        inventory.hold(asked)
