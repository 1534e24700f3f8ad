"""Calls the Inventory Service under test, and checks its answers."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar
from uuid import UUID, uuid4

import httpx

from holdfast.domain.immutable import immutable

T = TypeVar("T")
Json = dict[str, Any]

ANSWER_SECONDS_MAX = 5.0
AT_ONCE = 8
PROBLEM_JSON = "application/problem+json"


class Broken(Exception):
    """The service does not keep the contract. The message says how."""


def expect(value: object, wanted: object, what: str) -> None:
    if value != wanted:
        raise Broken(f"{what} is {value!r} instead of {wanted!r}")


class Counts(NamedTuple):
    total: int
    available: int
    held: int
    committed: int


@immutable
class Answer:
    call: str
    status: int
    body: Any
    content_type: str

    def expect_status(self, *wanted: int) -> "Answer":
        if self.status not in wanted:
            named = " or ".join(map(str, wanted))
            raise Broken(f"{self.call} answered {self.status} instead of {named}")
        return self

    def expect_problem(self, status: int, *codes: str) -> Json:
        """A problem with one of these codes, or with any code."""
        self.expect_status(status)
        expect(self.content_type, PROBLEM_JSON, f"the content type of {status} to {self.call}")
        for name in ("error", "message"):
            if not isinstance(self._object().get(name), str):
                raise Broken(f"{status} to {self.call} has no text in {name}")
        if codes and self.body["error"] not in codes:
            named = " or ".join(codes)
            raise Broken(f"{self.call} answered {self.body['error']} instead of {named}")
        return self._object()

    def expect_reservation(self, wanted: "Mine", state: str, *quantity: int) -> "Answer":
        """The whole reservation. Without a quantity, its lines do not matter."""
        body = self._object()
        expect(body.get("hold_id"), wanted.hold_id, f"hold_id in the answer to {self.call}")
        about = f"session_id in the answer to {self.call}"
        expect(body.get("session_id"), wanted.service.session_id, about)
        expect(body.get("status"), state, f"status in the answer to {self.call}")
        if not isinstance(body.get("lines"), list):
            raise Broken(f"the answer to {self.call} has no lines")
        if quantity:
            lines = wanted.service.lines(*quantity)
            expect(body["lines"], lines, f"lines in the answer to {self.call}")
        return self

    def _object(self) -> Json:
        if not isinstance(self.body, dict):
            raise Broken(f"the answer to {self.call} is not a JSON object")
        return self.body


class Service:
    """The service under test, and one of its items that nobody else sells meanwhile. Remembers the
    holds, to give everything back."""

    def __init__(
        self, url: str, key: str, session_id: UUID, ticket_type_id: UUID, other_id: UUID | None
    ) -> None:
        self.session_id = str(session_id)
        self.ticket_type_id = str(ticket_type_id)
        self.other_type_id = None if other_id is None else str(other_id)
        self.holds: list[Mine] = []
        self._key = key
        self._client = httpx.Client(
            base_url=url.rstrip("/"), timeout=ANSWER_SECONDS_MAX, trust_env=False
        )

    def close(self) -> None:
        self._client.close()

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, str] | None = None,
        *,
        authorization: str | None = "key",
    ) -> Answer:
        """An `authorization` of None sends none."""
        call = f"{method} {path.partition('/holds/')[0]}"
        headers = {}
        if authorization is not None:
            key = self._key if authorization == "key" else authorization
            headers["Authorization"] = f"Bearer {key}"
        try:
            response = self._client.request(method, path, params=query, headers=headers, json=body)
        except httpx.TimeoutException:
            raise Broken(f"no answer to {call} within {ANSWER_SECONDS_MAX:g} s") from None
        except httpx.HTTPError as error:
            raise Broken(f"no answer to {call}: {type(error).__name__}") from None
        content_type = response.headers.get("content-type", "").partition(";")[0].strip()
        try:
            decoded = response.json()
        except ValueError:
            decoded = None
        return Answer(call, response.status_code, decoded, content_type)

    def new_hold(self) -> "Mine":
        mine = Mine(self, str(uuid4()))
        self.holds.append(mine)
        return mine

    def lines(self, quantity: int) -> list[Json]:
        if not quantity:
            return []
        return [{"ticket_type_id": self.ticket_type_id, "quantity": quantity}]

    @property
    def item_path(self) -> str:
        return f"/inventory/items/{self.session_id}/{self.ticket_type_id}"

    def counts(self) -> Counts:
        answer = self.call("GET", self.item_path).expect_status(200)
        try:
            found = Counts(*(answer.body[name] for name in Counts._fields))
        except (KeyError, TypeError):
            raise Broken("an item lacks a count") from None
        if found.total != sum(found[1:]):
            raise Broken(f"the counts of an item do not add up: {found._asdict()}")
        return found

    def expect_counts(self, before: Counts, held: int, committed: int) -> None:
        """`held` and `committed` more than before."""
        taken = held + committed
        wanted = Counts(
            before.total,
            before.available - taken,
            before.held + held,
            before.committed + committed,
        )
        now = self.counts()
        if now != wanted:
            raise Broken(f"the item has {now._asdict()} instead of {wanted._asdict()}")

    def give_back(self) -> None:
        """Restore the number of tickets for the next check."""
        for mine in self.holds:
            answer = mine.read()
            status = answer.body.get("status") if isinstance(answer.body, dict) else None
            if status == "held":
                mine.release()
            elif status == "committed":
                mine.commit(0)
        self.holds.clear()


@immutable
class Mine:
    """A hold of this check."""

    service: Service
    hold_id: str

    def hold(self, quantity: int, **other: object) -> Answer:
        return self._send("hold", {"lines": self.service.lines(quantity), **other})

    def release(self) -> Answer:
        return self._send("release", {})

    def commit(self, quantity: int, **other: object) -> Answer:
        return self._send("commit", {"lines": self.service.lines(quantity), **other})

    def read(self) -> Answer:
        return self.service.call("GET", f"/inventory/holds/{self.hold_id}")

    def _send(self, call: str, more: Mapping[str, object]) -> Answer:
        body = {"hold_id": self.hold_id, "session_id": self.service.session_id, **more}
        return self.service.call("POST", f"/inventory/{call}", body)


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return [each.result() for each in [threads.submit(call) for call in calls]]
