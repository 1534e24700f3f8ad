"""Places holds whose tickets another service counts: commit the intent, ask, commit the result.

    PlaceHold -> pending -> ask the Inventory Service -> SettleHold -> active | failed

No transaction is open during the call. A process that dies in between leaves a pending hold, and a
missing answer leaves a failed one: the reconciler asks about both.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from uuid import UUID

import structlog

from holdfast.domain import refusals
from holdfast.domain.carts.fill_cart import FillCart
from holdfast.domain.carts.renew_cart import RenewCart
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import AwaitsInventory, Placed
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.remote import not_with_remote_inventory
from holdfast.domain.holds.settle_hold import SettleHold
from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.ports.engine import Answer, Deliver, Render, SubmitForCallback
from holdfast.ports.inventory.service import (
    CALL_SECONDS_MAX,
    Asked,
    Inventory,
    InventoryConflict,
    InventoryUnavailable,
    reservation_of,
)
from holdfast.services.fair_threads import FairThreads, Shares
from holdfast.services.inventory.circuit import Circuit, CircuitState

# More waiting calls would not be answered in time. One organization may use half of the threads.
CALLS = Shares(threads=32, at_once=16, calls_max=512)
# Requests that wait for an earlier one with the same key.
REPEATS_MAX = 16
# A request that has waited longer is given up before an answer could arrive.
PATIENCE_SECONDS = 8.0
STOP_SECONDS_MAX = CALL_SECONDS_MAX + 1.0
# The hold that this request placed is not the one that was answered.
_SETTLED_BY_ANOTHER = {RefusalCode.IDEMPOTENCY_KEY_REUSED, RefusalCode.REQUEST_IN_PROGRESS}
_NOT_ASKED = Asked(refusals.service_unavailable())

_log = structlog.get_logger("holdfast.inventory")


@immutable
class _Request:
    intent: PlaceHold
    render: Render | None
    deliver: Deliver
    since: float

    @property
    def organization_id(self) -> OrganizationId:
        return self.intent.organization_id

    @property
    def key(self) -> tuple[OrganizationId, UUID] | None:
        key = self.intent.idempotency
        return None if key is None else (key.organization_id, key.digest)


class RemoteHolds:
    """The engine's interface, in front of the engine."""

    def __init__(
        self,
        engine: SubmitForCallback,
        inventory: Inventory,
        circuit: Circuit,
        refused: Callable[[Command, Refusal], None],
    ) -> None:
        self._engine = engine
        self._inventory = inventory
        self._circuit = circuit
        self._refused = refused
        self._threads = FairThreads("holdfast-inventory", CALLS)
        self._changed = threading.Condition()
        self._requests: Counter[OrganizationId] = Counter()
        # Those that wait for the one under way with the same key.
        self._repeats: dict[tuple[OrganizationId, UUID], list[_Request]] = {}
        self._is_stopping = False

    def stop(self) -> None:
        """Let the calls under way end, and make no others."""
        with self._changed:
            self._is_stopping = True
            self._changed.wait_for(lambda: not self._requests, STOP_SECONDS_MAX)
        self._threads.close()

    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        future: Future[Answer] = Future()
        future.set_running_or_notify_cancel()
        self.submit_for_callback(command, render, future.set_result)
        return future

    def submit_for_callback(
        self, command: Command, render: Render | None, deliver: Deliver
    ) -> None:
        if isinstance(command, FillCart | RenewCart):
            refusal = not_with_remote_inventory("Carts")
            self._refused(command, refusal)  # the engine never sees it
            deliver(Answer(refusal))
        elif isinstance(command, PlaceHold):
            intent = replace(command, is_remote=True)
            self._place(_Request(intent, render, deliver, time.monotonic()))
        else:
            self._engine.submit_for_callback(command, render, deliver)

    def _place(self, request: _Request) -> None:
        with self._changed:
            waiting = None if request.key is None else self._repeats.get(request.key)
            if waiting is not None and len(waiting) < REPEATS_MAX:
                waiting.append(request)
                return
            may_ask = waiting is None and self._has_room_for(request) and self._circuit.may_try()
            if may_ask:
                self._requests[request.organization_id] += 1
                if request.key is not None:
                    self._repeats[request.key] = []
        if may_ask:
            answered = partial(self._intended, request)
            self._engine.submit_for_callback(request.intent, request.render, answered)
            return
        # The answer may only be a hold that exists already.
        known = replace(request.intent, over_rate=refusals.service_unavailable())
        answered = partial(_without_asking, request.deliver)
        self._engine.submit_for_callback(known, request.render, answered)

    def _has_room_for(self, request: _Request) -> bool:
        own, total = self._requests[request.organization_id], self._requests.total()
        return own < CALLS.calls_max // 2 and total < CALLS.calls_max and not self._is_stopping

    def _finish(self, request: _Request, answer: Answer) -> None:
        """The repeats get the same answer from the engine or, after a failure, try again."""
        with self._changed:
            self._requests[request.organization_id] -= 1
            if not self._requests[request.organization_id]:
                del self._requests[request.organization_id]
            repeats = [] if request.key is None else self._repeats.pop(request.key)
            self._changed.notify_all()
        request.deliver(answer)
        for repeat in repeats:
            self._place(repeat)

    def _intended(self, request: _Request, answer: Answer) -> None:
        """Runs on the engine's thread."""
        if not isinstance(answer.outcome, AwaitsInventory):
            self._circuit.withdrew()
            self._finish(request, answer)
            return
        hold = answer.outcome.hold
        if self._threads.submit(request.organization_id, partial(self._ask, request, hold)) is None:
            self._settle(request, hold, _NOT_ASKED)

    def _ask(self, request: _Request, hold: Hold) -> None:
        self._settle(request, hold, self._asked(request, hold))

    def _asked(self, request: _Request, hold: Hold) -> Asked:
        is_late = time.monotonic() - request.since > PATIENCE_SECONDS
        if is_late or self._is_stopping or self._circuit.state is CircuitState.OPEN:
            self._circuit.withdrew()
            return _NOT_ASKED
        unknown = Asked(refusals.service_unavailable(), is_certain=False)
        try:
            asked = self._inventory.hold(reservation_of(hold))
        except InventoryUnavailable as error:
            self._circuit.failed()
            _log.warning("inventory.unavailable", hold_id=str(hold.id), reason=error.reason)
            return unknown
        except InventoryConflict as error:
            self._circuit.succeeded()
            _log.warning("inventory.conflict", hold_id=str(hold.id), reason=error.reason)
            return Asked(_refusal_for(error.reason), error.is_certain)
        except Exception:
            self._circuit.failed()
            _log.exception("inventory.failed", hold_id=str(hold.id))
            return unknown
        self._circuit.succeeded()
        return asked

    def _settle(self, request: _Request, hold: Hold, asked: Asked) -> None:
        intent = request.intent
        is_agreed = asked.refusal is not None and asked.is_certain
        settle = SettleHold(
            hold.organization_id,
            hold.id,
            intent.origin,
            asked.refusal,
            intent.idempotency,
            is_agreed,
        )
        told = partial(self._settled, request, hold, settle)
        self._engine.submit_for_callback(settle, request.render, told)

    def _settled(self, request: _Request, hold: Hold, settle: SettleHold, answer: Answer) -> None:
        """Runs on the engine's thread."""
        self._finish(request, answer)
        outcome = answer.outcome
        code = outcome.code if isinstance(outcome, Refusal) else None
        if answer.is_replay or code in _SETTLED_BY_ANOTHER:
            # Another request with the same key was faster, in another process.
            refusal = settle.refusal or refusals.service_unavailable()
            abandon = replace(settle, refusal=refusal, idempotency=None)
            self._engine.submit_for_callback(abandon, None, _ignore)
        elif settle.refusal is None and not isinstance(outcome, Placed):
            # Failed in the meantime, perhaps by a request that knew of no reservation.
            self._threads.submit(hold.organization_id, partial(self._undo, hold))

    def _undo(self, hold: Hold) -> None:
        try:
            self._inventory.release(reservation_of(hold))
        except (InventoryUnavailable, InventoryConflict) as error:
            _log.warning("inventory.not_released", hold_id=str(hold.id), reason=error.reason)


def _refusal_for(reason: str) -> Refusal:
    match reason:
        case RefusalCode.IDEMPOTENCY_KEY_REUSED:
            return refusals.idempotency_key_reused()
        case RefusalCode.INVALID_SESSION | RefusalCode.INVALID_TICKET_TYPE:
            return refusals.insufficient_inventory(0)  # it has no such tickets
    return refusals.service_unavailable()


def _without_asking(deliver: Deliver, answer: Answer) -> None:
    is_pending = isinstance(answer.outcome, AwaitsInventory)
    deliver(Answer(refusals.service_unavailable()) if is_pending else answer)


def _ignore(_: Answer) -> None:
    """If this did not work, the reconciler settles it."""
