"""Calls an Inventory Service, as `contracts/inventory.yaml` describes it."""

import re
from dataclasses import replace
from typing import Annotated, TypeVar
from uuid import UUID

import msgspec
from msgspec import Meta

from holdfast.adapters.inventory.calls import Answer, Calls
from holdfast.domain import refusals
from holdfast.domain.ids import HoldId, SessionId, TicketTypeId
from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.ports.inventory.service import (
    ITEMS_SECONDS_MAX,
    Asked,
    InventoryConflict,
    InventoryUnavailable,
    Item,
    Reservation,
    ReservationPage,
)

T = TypeVar("T")

PAGE_LENGTH = 100
QUANTITY_MAX = 1_000_000_000
_ABOUT_HOLD = frozenset(
    {
        "hold_not_found",
        "idempotency_key_reused",
        "invalid_hold_state",
        "invalid_session",
        "invalid_ticket_type",
    }
)


_CODE = re.compile(r"[a-z_]{1,60}")
_Count = Annotated[int, Meta(ge=0, le=QUANTITY_MAX)]


class _Line(msgspec.Struct):
    ticket_type_id: UUID
    quantity: _Count


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
    total: _Count
    available: _Count
    held: _Count
    committed: _Count


class _Items(msgspec.Struct):
    data: list[_Item]


class _Problem(msgspec.Struct):
    error: str = ""
    available_quantity: int = 0

    @property
    def code(self) -> str:
        """Empty if it is not like ours: it is logged and stored."""
        return self.error if _CODE.fullmatch(self.error) else ""


class HttpInventory:
    def __init__(self, url: str, key: str) -> None:
        self._calls = Calls(url, key)

    def close(self) -> None:
        self._calls.close()

    def hold(self, reservation: Reservation) -> Asked:
        response = self._calls.post("/inventory/hold", _with_lines(reservation))
        if response.is_success:
            _refuse_other(_reservation(response), reservation)
            return Asked(None)
        problem = _problem(response)
        if response.status == 409 and problem.code == "insufficient_inventory":
            available = min(max(0, problem.available_quantity), QUANTITY_MAX)
            return Asked(refusals.insufficient_inventory(available), response.is_certain)
        raise _conflict(response)

    def release(self, reservation: Reservation) -> None:
        response = self._calls.post("/inventory/release", _named(reservation))
        if not response.is_success:
            raise _conflict(response)

    def commit(self, reservation: Reservation) -> None:
        response = self._calls.post("/inventory/commit", _with_lines(reservation))
        if not response.is_success:
            raise _conflict(response)

    def find(self, hold_id: HoldId) -> Reservation | None:
        response = self._calls.get(f"/inventory/holds/{hold_id}")
        if response.status == 404:
            if _problem(response).code != "hold_not_found":
                raise InventoryUnavailable("it has no such route")
            return None
        if not response.is_success:
            raise InventoryUnavailable(f"it answered {response.status}")
        return _reservation(response)

    def reservations(self, status: ReservationStatus, after: str | None) -> ReservationPage:
        query = {"status": status.value, "limit": str(PAGE_LENGTH)}
        if after is not None:
            query["after"] = after
        response = self._calls.get("/inventory/holds", query)
        if not response.is_success:
            raise InventoryUnavailable(f"it answered {response.status}")
        page = _decoded(response, _Page)
        return ReservationPage(tuple(each.value() for each in page.data), page.next)

    def items(self, session_id: SessionId) -> tuple[Item, ...] | None:
        path = f"/inventory/items/{session_id}"
        response = self._calls.get(path, seconds_max=ITEMS_SECONDS_MAX)
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


def _named(reservation: Reservation) -> dict[str, object]:
    return {"hold_id": str(reservation.hold_id), "session_id": str(reservation.session_id)}


def _with_lines(reservation: Reservation) -> dict[str, object]:
    lines = [
        {"ticket_type_id": str(ticket_type_id), "quantity": quantity}
        for ticket_type_id, quantity in reservation.lines.items()
    ]
    return {**_named(reservation), "lines": lines}


def _refuse_other(theirs: Reservation, asked: Reservation) -> None:
    """A status of 201 is not enough: another reservation, or a released one, would be sold."""
    if replace(theirs, status=asked.status) != asked:
        raise InventoryUnavailable("it answered with another reservation")
    if theirs.status is ReservationStatus.RELEASED:
        raise InventoryUnavailable("it answered with a released reservation")


def _reservation(response: Answer) -> Reservation:
    return _decoded(response, _Reservation).value()


def _decoded(response: Answer, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(response.body, type=kind)
    except (msgspec.DecodeError, RecursionError):
        raise InventoryUnavailable("its answer cannot be read") from None


def _problem(response: Answer) -> _Problem:
    try:
        return msgspec.json.decode(response.body, type=_Problem)
    except (msgspec.DecodeError, RecursionError):
        return _Problem()


def _conflict(response: Answer) -> InventoryConflict | InventoryUnavailable:
    """Only these refusals say something about the hold. Others come from a credential that an
    operator can mend, from a proxy, or from a call that is under way."""
    code = _problem(response).code
    if code in _ABOUT_HOLD:
        return InventoryConflict(code, is_certain=response.is_certain)
    return InventoryUnavailable(f"it answered {response.status}")
