"""Somebody else's Inventory Service: it keeps the contract, except for the fault that it is told to
have."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID, uuid4

Json = dict[str, Any]
Reply = tuple[int, Json]

KEY = "key of another service"
MOMENT_SECONDS = 0.02


class Refused(Exception):
    def __init__(self, status: int, error: str, **more: Any) -> None:
        super().__init__(error)
        self.reply: Reply = (status, {"error": error, "message": f"It is {error}", **more})


@dataclass
class Reservation:
    hold_id: str
    session_id: str
    first: dict[str, int]
    status: str = "held"
    sold: dict[str, int] = field(default_factory=dict)

    @property
    def taken(self) -> dict[str, int]:
        return {"held": self.first, "committed": self.sold, "released": {}}[self.status]

    def shown(self) -> Json:
        lines = [{"ticket_type_id": id_, "quantity": n} for id_, n in self.taken.items()]
        about = {"hold_id": self.hold_id, "session_id": self.session_id}
        return {**about, "status": self.status, "lines": lines}


@dataclass
class AnotherService:
    fault: str = ""
    session_id: str = field(default_factory=lambda: str(uuid4()))
    totals: dict[str, int] = field(default_factory=lambda: {str(uuid4()): 12, str(uuid4()): 5})
    reservations: dict[str, Reservation] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""

    @contextmanager
    def running(self) -> Iterator["AnotherService"]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def answer(self, method: str, target: str, authorization: str, body: bytes) -> Reply:
        if authorization != f"Bearer {KEY}" and self.fault != "asks for no key":
            return Refused(401, "unauthorized").reply
        parts, query = urlsplit(target).path.split("/")[2:], urlsplit(target).query
        try:
            if method == "POST":
                given = _checked(json.loads(body), parts[0], self.fault)
                calls = {"hold": self._hold, "release": self._release, "commit": self._commit}
                return calls[parts[0]](given)
            if parts[0] == "items":
                return self._items(*parts[1:])
            return self._one(parts[1]) if parts[1:] else self._list(dict(parse_qsl(query)))
        except Refused as refused:
            return refused.reply

    def _hold(self, given: Json) -> Reply:
        with self.lock:
            self._check_ids(given)
            known, wanted = self.reservations.get(given["hold_id"]), _quantities(given)
            if known is not None:
                return self._repeated(known, wanted)
            self._check_available(wanted)
            if self.fault != "oversells":
                return self._made(given, wanted)
        time.sleep(MOMENT_SECONDS)
        with self.lock:
            return self._made(given, wanted)

    def _made(self, given: Json, wanted: dict[str, int]) -> Reply:
        made = Reservation(given["hold_id"], given["session_id"], wanted)
        self.reservations[made.hold_id] = made
        return 201, made.shown()

    def _repeated(self, known: Reservation, wanted: dict[str, int]) -> Reply:
        if known.status == "released" and self.fault != "forgets releases":
            raise Refused(409, "invalid_hold_state", current_status="released")
        is_same = wanted == (known.sold if self.fault == "forgets the hold" else known.first)
        if known.status == "held":
            is_same = wanted == known.first
        if not is_same and self.fault != "takes other lines":
            raise Refused(422, "idempotency_key_reused")
        if self.fault == "takes a repeat twice":
            for id_, quantity in wanted.items():
                known.first[id_] += quantity
        if known.status == "released":
            known.status = "held"
        return (201 if self.fault == "creates again" else 200), known.shown()

    def _check_available(self, wanted: dict[str, int]) -> None:
        for id_, quantity in wanted.items():
            left = self._counts(id_)["available"]
            if quantity > left:
                more = {} if self.fault == "does not count" else {"available_quantity": left}
                if self.fault == "counts its total":
                    more = {"available_quantity": self.totals[id_]}
                raise Refused(409, "insufficient_inventory", **more)

    def _check_ids(self, given: Json) -> None:
        if given["session_id"] != self.session_id:
            raise Refused(400, "invalid_session")
        if any(line["ticket_type_id"] not in self.totals for line in given.get("lines", ())):
            raise Refused(400, "invalid_ticket_type")

    def _release(self, given: Json) -> Reply:
        with self.lock:
            self._check_ids(given)
            known = self.reservations.get(given["hold_id"])
            if known is None:
                if self.fault == "does not know early releases":
                    raise Refused(404, "hold_not_found")
                known = Reservation(given["hold_id"], given["session_id"], {}, "released")
                if self.fault != "forgets early releases":
                    self.reservations[known.hold_id] = known
            if known.status == "committed" and self.fault != "releases what is sold":
                raise Refused(409, "invalid_hold_state", current_status="committed")
            known.status = "released"
            return 200, known.shown()

    def _commit(self, given: Json) -> Reply:
        with self.lock:
            self._check_ids(given)
            known, wanted = self.reservations.get(given["hold_id"]), _quantities(given)
            if known is None:
                raise Refused(404, "hold_not_found")
            if known.status == "released":
                raise Refused(409, "invalid_hold_state", current_status="released")
            if any(known.first.get(id_, 0) < n for id_, n in wanted.items()):
                raise Refused(422, "idempotency_key_reused")
            before = known.sold if known.status == "committed" else known.first
            known.status = "committed"
            known.sold = {id_: min(n, before[id_]) for id_, n in wanted.items() if id_ in before}
            if self.fault == "sells the last quantity":
                known.sold = wanted
            if self.fault == "keeps cancelled tickets":
                known.sold = before
            return 200, known.shown()

    def _counts(self, id_: str) -> Json:
        counts = {"held": 0, "committed": 0}
        for each in self.reservations.values():
            if each.status != "released":
                counts[each.status] += each.taken.get(id_, 0)
        available = self.totals[id_] - sum(counts.values())
        if self.fault == "counts wrong":
            available += counts["committed"]
        about = {"session_id": self.session_id, "ticket_type_id": id_, "total": self.totals[id_]}
        return {**about, "available": available, **counts}

    def _items(self, session_id: str, ticket_type_id: str | None = None) -> Reply:
        with self.lock:
            if session_id != self.session_id:
                raise Refused(404, "session_not_found")
            if ticket_type_id is None:
                return 200, {"data": [self._counts(each) for each in self.totals]}
            if ticket_type_id not in self.totals:
                raise Refused(404, "ticket_type_not_found")
            return 200, self._counts(ticket_type_id)

    def _one(self, hold_id: str) -> Reply:
        with self.lock:
            if hold_id not in self.reservations:
                raise Refused(404, "hold_not_found")
            return 200, self.reservations[hold_id].shown()

    def _list(self, query: dict[str, str]) -> Reply:
        limit, after, status = int(query.get("limit", 50)), query.get("after"), query.get("status")
        with self.lock:
            found = [each for each in self.reservations.values() if status in {None, each.status}]
            if self.fault == "lists newest first":
                found.reverse()
            ids = [each.hold_id for each in found]
            is_valid = 1 <= limit <= 100 and status in {None, "held", "released", "committed"}
            if not is_valid or (after is not None and after not in self.reservations):
                raise Refused(400, "validation_error")
            start = ids.index(after) + 1 if after in ids else 0
            page = found[start : start + limit]
            has_more = start + limit < len(found) and self.fault != "has one page"
            body = {"data": [each.shown() for each in page], "has_more": has_more}
            return 200, body | ({"next": page[-1].hold_id} if has_more else {})


def _quantities(given: Json) -> dict[str, int]:
    return {line["ticket_type_id"]: line["quantity"] for line in given["lines"]}


def _checked(given: Json, call: str, fault: str) -> Json:
    try:
        ids = [given["hold_id"], given["session_id"]]
        if call != "release":
            lines = given["lines"]
            ids += [line["ticket_type_id"] for line in lines]
            is_valid = len(lines) <= 50 and len(_quantities(given)) == len(lines)
            is_valid = is_valid and (call == "commit" or bool(lines))
            for line in lines:
                whole = isinstance(line["quantity"], int)
                is_valid = is_valid and whole and 1 <= line["quantity"] <= 100_000
            if not is_valid and fault != "checks no lines":
                raise Refused(400, "validation_error")
        for each in ids:
            UUID(each)
    except (KeyError, TypeError, ValueError):
        raise Refused(400, "validation_error") from None
    return given


def _handler_of(service: AnotherService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            authorization = self.headers.get("authorization", "")
            status, answer = service.answer(self.command, self.path, authorization, body)
            content = json.dumps(answer).encode()
            is_problem = status >= 400 and service.fault != "sends plain errors"
            kind = "application/problem+json" if is_problem else "application/json"
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Tests read no log."""

    return Handler
