"""Clears a cancelled event or session: releases its live holds and cancels its orders, a few at a
time, so that other organizations' commands come in between.

The work can stop after any step and go on later, in another process: what is cleared is not found
again.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import OrderCancelled, Outcome, Released
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.ids import EventId, OrderId, OrganizationId, SessionId, TicketId
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.cancel_order import CancelOrder
from holdfast.domain.orders.order import Order
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.ports.catalog import CatalogStore
from holdfast.ports.engine import Answer, Submit
from holdfast.ports.holds import HoldFilter, HoldReader
from holdfast.ports.orders import OrderFilter, OrderReader
from holdfast.ports.paging import Cursor, PageRequest

HOLDS_PER_STEP = 25
ORDERS_PER_STEP = 10
# Longer than the engine's deadline: it answers every command in time.
STEP_SECONDS_MAX = 30.0


@immutable
class Cleared:
    """`failed` counts holds and orders that could not be cleared; try those again."""

    holds: int = 0
    orders: int = 0
    tickets: int = 0
    failed: int = 0

    def plus(self, other: "Cleared") -> "Cleared":
        return Cleared(
            self.holds + other.holds,
            self.orders + other.orders,
            self.tickets + other.tickets,
            self.failed + other.failed,
        )


class Position(NamedTuple):
    """Where the next step begins: the kind of rows, and the last one that was seen."""

    kind: int = 0
    after: Cursor | None = None

    def __str__(self) -> str:
        return (
            f"{self.kind}" if self.after is None else f"{self.kind} {self.after.at} {self.after.id}"
        )

    @classmethod
    def read(cls, text: str) -> "Position":
        """Raises ValueError if it is not a position."""
        kind, *after = text.rsplit(" ", 1)
        if not after:
            return cls(_kind(kind))
        number, at = kind.split(" ", 1)
        return cls(_kind(number), Cursor(datetime.fromisoformat(at), UUID(after[0])))


@immutable
class Clearing:
    """Of an event or of one of its sessions, which must be cancelled: otherwise the freed places
    would be sold again."""

    submit: Submit
    holds: HoldReader
    orders: OrderReader
    catalog: CatalogStore
    organization_id: OrganizationId
    origin: Origin
    event_id: EventId | None = None
    session_id: SessionId | None = None

    def run(self, report: Callable[[Cleared], None]) -> Cleared:
        """All steps. `report` is called after each. May raise StoreError."""
        cleared, position = Cleared(), Position()
        while True:
            done, following = self.step(position)
            cleared = cleared.plus(done)
            report(cleared)
            if following is None:
                return cleared
            position = following

    def step(self, position: Position) -> tuple[Cleared, Position | None]:
        """One step; returns where the next one begins, or None at the end. May raise
        StoreError."""
        is_last = position.kind >= len(_LIVE)
        if is_last:
            cleared, after = self._cancel(position.after)
        else:
            cleared, after = self._release(_LIVE[position.kind], position.after)
        if after is not None:
            return cleared, Position(position.kind, after)
        return cleared, None if is_last else Position(position.kind + 1)

    def _release(self, status: HoldStatus, after: Cursor | None) -> tuple[Cleared, Cursor | None]:
        only = HoldFilter(event_id=self.event_id, session_id=self.session_id, status=status)
        page = self.holds.holds(self.organization_id, only, PageRequest(HOLDS_PER_STEP, after))
        found = [
            ReleaseHold(self.organization_id, seen.hold.id, self.origin, is_operator=True)
            for seen in page.items
        ]
        outcomes = self._outcomes(found)
        released = sum(isinstance(each, Released) for each in outcomes)
        return Cleared(holds=released, failed=_failed(outcomes)), page.next

    def _cancel(self, after: Cursor | None) -> tuple[Cleared, Cursor | None]:
        """All orders are looked at, whatever their status: no index finds the few that are left
        among thousands."""
        only = OrderFilter(event_id=self.event_id, session_id=self.session_id)
        page = self.orders.orders(self.organization_id, only, PageRequest(ORDERS_PER_STEP, after))
        done, changed = self._cancel_orders(page.items)
        if changed:
            # Somebody has cancelled some of these tickets meanwhile: the others are still valid.
            found = (self.orders.order(self.organization_id, order_id) for order_id in changed)
            again, left = self._cancel_orders([order for order in found if order is not None])
            done = done.plus(again).plus(Cleared(failed=len(left)))
        return done, page.next

    def _cancel_orders(self, orders: Sequence[Order]) -> tuple[Cleared, list[OrderId]]:
        """What was done, and the orders that were not cancelled because they have changed."""
        concerned = ((order, self._tickets_of(order)) for order in orders)
        found = [
            CancelOrder(self.organization_id, order.id, tickets, self.origin)
            for order, tickets in concerned
            if tickets
        ]
        outcomes = self._outcomes(found)
        cancelled = [each for each in outcomes if isinstance(each, OrderCancelled)]
        tickets = sum(len(each.ticket_ids) for each in cancelled)
        changed = [
            command.order_id
            for command, outcome in zip(found, outcomes, strict=True)
            if isinstance(outcome, Refusal) and outcome.code is RefusalCode.TICKET_ALREADY_VOID
        ]
        failed = _failed(outcomes) - len(changed)
        return Cleared(0, len(cancelled), tickets, failed), changed

    def _tickets_of(self, order: Order) -> tuple[TicketId, ...]:
        """An order may also have tickets of other events, which stay valid."""
        sessions = {ticket.session_id for ticket in order.tickets if not ticket.is_void}
        concerned = set(filter(self._is_concerned, sessions))
        return tuple(
            ticket.id
            for ticket in order.tickets
            if not ticket.is_void and ticket.session_id in concerned
        )

    def _is_concerned(self, session_id: SessionId) -> bool:
        if self.session_id is not None:
            return session_id == self.session_id
        session = self.catalog.session(self.organization_id, session_id)
        return session is not None and session.event_id == self.event_id

    def _outcomes(self, commands: Sequence[Command]) -> list[Outcome | None]:
        """None for commands that were not answered in time."""
        asked: list[Future[Answer]] = [self.submit.submit(command) for command in commands]
        finished, _ = wait(asked, timeout=STEP_SECONDS_MAX)
        return [future.result().outcome if future in finished else None for future in asked]


def _kind(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(text)
    return int(text)


_LIVE = (HoldStatus.ACTIVE, HoldStatus.WAITING)
# Others have ended it meanwhile: the waitlist of a sale that is over ends by itself.
_DONE_ALREADY = {
    RefusalCode.INVALID_HOLD_STATE,
    RefusalCode.HOLD_EXPIRED,
    RefusalCode.ORDER_ALREADY_CANCELLED,
}


def _failed(outcomes: Sequence[Outcome | None]) -> int:
    refused = [each for each in outcomes if isinstance(each, Refusal)]
    unanswered = sum(each is None for each in outcomes)
    return unanswered + sum(each.code not in _DONE_ALREADY for each in refused)
