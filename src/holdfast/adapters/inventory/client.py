"""Calls an Inventory Service, as `contracts/inventory.yaml` describes it."""

import random
import time
from collections.abc import Mapping
from contextlib import closing
from typing import NamedTuple, TypeVar
from uuid import UUID

import httpx
import msgspec

from holdfast.domain import refusals
from holdfast.domain.ids import HoldId, SessionId, TicketTypeId
from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.ports.inventory.service import (
    CALL_SECONDS_MAX,
    ITEMS_SECONDS_MAX,
    Asked,
    InventoryConflict,
    InventoryUnavailable,
    Item,
    Reservation,
    ReservationPage,
)

T = TypeVar("T")

CONNECTIONS_MAX = 64
CONNECT_SECONDS_MAX = 2.0
ATTEMPTS_MAX = 3
RETRY_SECONDS = 0.1
PAGE_LENGTH = 100
# A page of 100 reservations with 50 lines each is smaller.
BODY_LENGTH_MAX = 2_000_000
QUANTITY_SHOWN_MAX = 1_000_000_000
_ABOUT_HOLD = frozenset(
    {
        "hold_not_found",
        "idempotency_key_reused",
        "invalid_hold_state",
        "invalid_session",
        "invalid_ticket_type",
    }
)


class _Line(msgspec.Struct):
    ticket_type_id: UUID
    quantity: int


class _Reservation(msgspec.Struct):
    hold_id: UUID
    session_id: UUID
    status: ReservationStatus
    lines: list[_Line]

    def value(self) -> Reservation:
        lines = {TicketTypeId(line.ticket_type_id): line.quantity for line in self.lines}
        return Reservation(HoldId(self.hold_id), SessionId(self.session_id), lines, self.status)


class _Page(msgspec.Struct):
    data: list[_Reservation]
    next: str | None = None


class _Item(msgspec.Struct):
    ticket_type_id: UUID
    total: int
    available: int
    held: int
    committed: int


class _Items(msgspec.Struct):
    data: list[_Item]


class _Problem(msgspec.Struct):
    error: str = ""
    available_quantity: int = 0
    current_status: str = ""


class _Answer(NamedTuple):
    """`is_certain`: no earlier attempt of the call may have had its effect."""

    status: int
    body: bytes
    is_certain: bool = True

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class _MayPass(InventoryUnavailable):
    """Another attempt may succeed. `is_unsent`: this one did not reach the service."""

    def __init__(self, reason: str, *, is_unsent: bool = False) -> None:
        super().__init__(reason)
        self.is_unsent = is_unsent


class HttpInventory:
    """One pool of connections for all threads. A call takes at most five seconds, attempts
    included. Only what may pass is tried again: the service could not be reached, or said 503."""

    def __init__(self, url: str, key: str) -> None:
        self._client = httpx.Client(
            base_url=url.rstrip("/"),
            # A compressed answer could be far larger than what is read.
            headers={
                "authorization": f"Bearer {key}",
                "user-agent": "holdfast",
                "accept-encoding": "identity",
            },
            limits=httpx.Limits(max_connections=CONNECTIONS_MAX),
            trust_env=False,
        )

    def close(self) -> None:
        self._client.close()

    def hold(self, reservation: Reservation) -> Asked:
        response = self._post("/inventory/hold", _with_lines(reservation))
        if response.is_success:
            _reservation(response)
            return Asked(None)
        problem = _problem(response)
        if response.status == 409 and problem.error == "insufficient_inventory":
            available = min(max(0, problem.available_quantity), QUANTITY_SHOWN_MAX)
            return Asked(refusals.insufficient_inventory(available), response.is_certain)
        raise _conflict(response)

    def release(self, reservation: Reservation) -> None:
        response = self._post("/inventory/release", _named(reservation))
        if not response.is_success:
            raise _conflict(response)

    def commit(self, reservation: Reservation) -> None:
        response = self._post("/inventory/commit", _with_lines(reservation))
        if not response.is_success:
            raise _conflict(response)

    def find(self, hold_id: HoldId) -> Reservation | None:
        response = self._request("GET", f"/inventory/holds/{hold_id}")
        if response.status == 404:
            if _problem(response).error != "hold_not_found":
                raise InventoryUnavailable("it has no such route")
            return None
        if not response.is_success:
            raise InventoryUnavailable(f"it answered {response.status}")
        return _reservation(response)

    def reservations(self, status: ReservationStatus, after: str | None) -> ReservationPage:
        query = {"status": status.value, "limit": str(PAGE_LENGTH)}
        response = self._request(
            "GET", "/inventory/holds", query if after is None else {**query, "after": after}
        )
        if not response.is_success:
            raise InventoryUnavailable(f"it answered {response.status}")
        page = _decoded(response, _Page)
        return ReservationPage(tuple(each.value() for each in page.data), page.next)

    def items(self, session_id: SessionId) -> tuple[Item, ...] | None:
        path = f"/inventory/items/{session_id}"
        response = self._request("GET", path, seconds_max=ITEMS_SECONDS_MAX)
        if response.status == 404:
            return None
        if not response.is_success:
            raise InventoryUnavailable(f"it answered {response.status}")
        return tuple(
            Item(
                TicketTypeId(item.ticket_type_id),
                item.total,
                item.available,
                item.held,
                item.committed,
            )
            for item in _decoded(response, _Items).data
        )

    def _post(self, path: str, body: Mapping[str, object]) -> _Answer:
        return self._request("POST", path, body=body)

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
        seconds_max: float = CALL_SECONDS_MAX,
    ) -> _Answer:
        give_up_at = time.monotonic() + seconds_max
        attempt, is_certain = 1, True
        while True:
            request = self._client.build_request(method, path, params=query, json=body)
            try:
                return self._attempt(request, give_up_at)._replace(is_certain=is_certain)
            except _MayPass as problem:
                is_certain = is_certain and problem.is_unsent
                pause = random.uniform(0.5, 1.5) * RETRY_SECONDS * attempt  # noqa: S311
                if attempt == ATTEMPTS_MAX or time.monotonic() + pause >= give_up_at:
                    raise
            attempt += 1
            time.sleep(pause)

    def _attempt(self, request: httpx.Request, give_up_at: float) -> _Answer:
        left = max(0.001, give_up_at - time.monotonic())
        timeout = httpx.Timeout(left, connect=min(left, CONNECT_SECONDS_MAX))
        request.extensions["timeout"] = timeout.as_dict()
        try:
            response = self._client.send(request, stream=True)
            answer = _Answer(response.status_code, _read(response, give_up_at))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise _MayPass("it cannot be reached", is_unsent=True) from None
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            raise _MayPass("the connection was lost") from None
        except httpx.TimeoutException:
            raise InventoryUnavailable("it did not answer in time") from None
        except (httpx.HTTPError, RuntimeError) as error:  # the latter if the client is closed
            raise InventoryUnavailable(type(error).__name__) from None
        if answer.status == 503:
            raise _MayPass("it answered 503")
        if answer.status >= 500:
            raise InventoryUnavailable(f"it answered {answer.status}")
        return answer


def _read(response: httpx.Response, give_up_at: float) -> bytes:
    """The client itself limits the wait for each part of the body only."""
    parts: list[bytes] = []
    length = 0
    with closing(response):
        for part in response.iter_raw():
            parts.append(part)
            length += len(part)
            if length > BODY_LENGTH_MAX:
                raise InventoryUnavailable("its answer is too long")
            if time.monotonic() > give_up_at:
                raise httpx.ReadTimeout("the body is too slow")
    return b"".join(parts)


def _named(reservation: Reservation) -> dict[str, object]:
    return {"hold_id": str(reservation.hold_id), "session_id": str(reservation.session_id)}


def _with_lines(reservation: Reservation) -> dict[str, object]:
    lines = [
        {"ticket_type_id": str(ticket_type_id), "quantity": quantity}
        for ticket_type_id, quantity in reservation.lines.items()
    ]
    return {**_named(reservation), "lines": lines}


def _reservation(response: _Answer) -> Reservation:
    return _decoded(response, _Reservation).value()


def _decoded(response: _Answer, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(response.body, type=kind)
    except msgspec.DecodeError:
        raise InventoryUnavailable("its answer cannot be read") from None


def _problem(response: _Answer) -> _Problem:
    try:
        return msgspec.json.decode(response.body, type=_Problem)
    except msgspec.DecodeError:
        return _Problem()


def _conflict(response: _Answer) -> InventoryConflict | InventoryUnavailable:
    """Only these refusals say something about the hold. Others come from a credential that an
    operator can mend, from a proxy, or from a call that is under way."""
    code = _problem(response).error
    if code in _ABOUT_HOLD:
        return InventoryConflict(code, is_certain=response.is_certain)
    return InventoryUnavailable(f"it answered {response.status}")
