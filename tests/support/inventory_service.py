"""An Inventory Service in memory, as contracts/inventory.yaml describes it. It can be told to lose
calls and answers, to be late, and to fail."""

import json
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
Answer = tuple[int, Json]
Lines = dict[str, int]

KEY = "the key of the Inventory Service"
PAGE_SIZE_MAX = 100


class Fault(Enum):
    LOSE_CALL = auto()  # the connection ends before it has had its effect
    LOSE_ANSWER = auto()  # the connection ends afterwards
    FAIL_BEFORE = auto()  # 500 without the effect
    FAIL_AFTER = auto()  # 500 in spite of the effect
    HANG_BEFORE = auto()  # no answer until `resume`, and the effect only then
    HANG_AFTER = auto()  # no answer until `resume`, but the effect


@dataclass
class Kept:
    hold_id: str
    session_id: str
    status: str
    lines: Lines
    asked: Lines | None = None  # None: released before it was held

    def shown(self) -> Json:
        lines = [{"ticket_type_id": each, "quantity": n} for each, n in self.lines.items()]
        return {
            "hold_id": self.hold_id,
            "session_id": self.session_id,
            "status": self.status,
            "lines": lines,
        }


@dataclass
class InventoryService:
    """Ticket types that nobody has put on sale have as many tickets as `default_total`."""

    default_total: int = 1_000_000
    kept: dict[str, Kept] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    calls: list[tuple[str, str | None]] = field(default_factory=list)
    is_down: bool = False
    hanging: int = 0  # calls without an answer, so far
    _faults: dict[str, deque[Fault]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _resumed: threading.Event = field(default_factory=threading.Event)
    _server: ThreadingHTTPServer = field(init=False)

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.resume()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def environment(self) -> dict[str, str]:
        return {"HOLDFAST_INVENTORY_URL": self.url, "HOLDFAST_INVENTORY_KEY": KEY}

    def break_next(self, operation: str, *faults: Fault) -> None:
        """The faults of the next calls of this operation: hold, release, commit, find or list."""
        with self._lock:
            self._faults.setdefault(operation, deque()).extend(faults)

    def resume(self) -> None:
        """Let the hanging calls go on."""
        self._resumed.set()

    def status(self, hold_id: object) -> str | None:
        with self._lock:
            kept = self.kept.get(str(hold_id))
        return None if kept is None else kept.status

    def lines(self, hold_id: object) -> Lines:
        with self._lock:
            return dict(self.kept[str(hold_id)].lines)

    def count(self, operation: str) -> int:
        with self._lock:
            return sum(called == operation for called, _ in self.calls)

    def forget(self, hold_id: object) -> None:
        """As after a restore of its database."""
        with self._lock:
            del self.kept[str(hold_id)]

    def answer(self, operation: str, body: Json, effect: Callable[[], Answer]) -> Answer | None:
        """None if the connection ends without an answer."""
        with self._lock:
            self.calls.append((operation, body.get("hold_id")))
            faults = self._faults.get(operation)
            fault = faults.popleft() if faults else None
            is_down = self.is_down
        if is_down:
            return 503, _problem("service_unavailable")
        if fault is Fault.LOSE_CALL:
            return None
        if fault is Fault.FAIL_BEFORE:
            return 500, _problem("internal_error")
        if fault is Fault.HANG_BEFORE:
            self._hang()
        with self._lock:
            answer = effect()
        if fault is Fault.HANG_AFTER:
            self._hang()
        if fault is Fault.FAIL_AFTER:
            return 500, _problem("internal_error")
        return None if fault is Fault.LOSE_ANSWER else answer

    def _hang(self) -> None:
        with self._lock:
            self.hanging += 1
        self._resumed.wait()

    def hold(self, body: Json) -> Answer:
        asked = _lines(body)
        kept = self.kept.get(body["hold_id"])
        if kept is not None:
            if kept.status == "released":
                return 409, _problem("invalid_hold_state", current_status="released")
            if kept.asked != asked or kept.session_id != body["session_id"]:
                return 422, _problem("idempotency_key_reused")
            return 200, kept.shown()
        for ticket_type, quantity in asked.items():
            left = self.totals.get(ticket_type, self.default_total) - self.taken(ticket_type)
            if quantity > left:
                return 409, _problem("insufficient_inventory", available_quantity=left)
        made = Kept(body["hold_id"], body["session_id"], "held", dict(asked), asked)
        self.kept[made.hold_id] = made
        return 201, made.shown()

    def taken(self, ticket_type: str) -> int:
        live = (kept for kept in self.kept.values() if kept.status != "released")
        return sum(kept.lines.get(ticket_type, 0) for kept in live)

    def release(self, body: Json) -> Answer:
        made = Kept(body["hold_id"], body["session_id"], "released", {})
        kept = self.kept.setdefault(made.hold_id, made)
        if kept.session_id != body["session_id"]:
            return 422, _problem("idempotency_key_reused")
        if kept.status == "committed":
            return 409, _problem("invalid_hold_state", current_status="committed")
        kept.status = "released"
        return 200, kept.shown()

    def commit(self, body: Json) -> Answer:
        kept = self.kept.get(body["hold_id"])
        if kept is None:
            return 404, _problem("hold_not_found")
        if kept.status == "released":
            return 409, _problem("invalid_hold_state", current_status="released")
        sold = _lines(body)
        if any(quantity > (kept.asked or {}).get(each, 0) for each, quantity in sold.items()):
            return 422, _problem("idempotency_key_reused")
        smallest = {each: min(n, sold.get(each, 0)) for each, n in kept.lines.items()}
        kept.lines = {each: n for each, n in smallest.items() if n}
        kept.status = "committed"
        return 200, kept.shown()

    def find(self, hold_id: str) -> Answer:
        kept = self.kept.get(hold_id)
        return (404, _problem("hold_not_found")) if kept is None else (200, kept.shown())

    def list(self, query: dict[str, list[str]]) -> Answer:
        limit, start = int(query.get("limit", ["50"])[0]), int(query.get("after", ["0"])[0])
        wanted = query.get("status")
        listed = list(enumerate(self.kept.values(), 1))[start:]
        found = [(n, each) for n, each in listed if wanted is None or each.status in wanted]
        data = [each.shown() for _, each in found[:limit]]
        if len(found) <= limit:
            return 200, {"data": data, "has_more": False}
        return 200, {"data": data, "has_more": True, "next": str(found[limit - 1][0])}


def _lines(body: Json) -> Lines:
    return {line["ticket_type_id"]: line["quantity"] for line in body["lines"]}


def _problem(code: str, **details: Any) -> Json:
    return {"error": code, "message": code, **details}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


def _handler(service: InventoryService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            operation = self.path.rpartition("/")[2]
            effect = {"hold": service.hold, "release": service.release, "commit": service.commit}
            self._send(service.answer(operation, body, lambda: effect[operation](body)))

        def do_GET(self) -> None:
            path = urlsplit(self.path)
            if path.path == "/inventory/holds":
                query = parse_qs(path.query)
                self._send(service.answer("list", {}, lambda: service.list(query)))
                return
            hold_id = path.path.rpartition("/")[2]
            named = {"hold_id": hold_id}
            self._send(service.answer("find", named, lambda: service.find(hold_id)))

        def _send(self, answer: Answer | None) -> None:
            if answer is None:
                self.close_connection = True
                return
            is_known = self.headers["authorization"] == f"Bearer {KEY}"
            status, body = answer if is_known else (401, _problem("unauthorized"))
            content = json.dumps(body).encode()
            try:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                self.close_connection = True  # the caller has given up, or was killed

        def log_message(self, *_: Any) -> None:
            """The tests look at `calls`."""

    return Handler
