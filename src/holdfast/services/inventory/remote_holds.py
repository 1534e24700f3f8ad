"""Places holds whose tickets another service counts: commit the intent, ask, commit the result.

    PlaceHold -> pending -> ask the Inventory Service -> SettleHold -> active | failed

No transaction is open during the call. A process that dies in between leaves a pending hold, and a
missing answer leaves a failed one: the reconciler asks about both.
"""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import structlog

from holdfast.domain import refusals
from holdfast.domain.carts.fill_cart import FillCart
from holdfast.domain.carts.renew_cart import RenewCart
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import AwaitsInventory
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.remote import not_with_remote_inventory
from holdfast.domain.holds.settle_hold import SettleHold
from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.engine import Answer, Deliver, Render, SubmitForCallback
from holdfast.ports.inventory.service import (
    Inventory,
    InventoryConflict,
    InventoryUnavailable,
    reservation_of,
)
from holdfast.services.inventory.circuit import Circuit

CALLS_AT_ONCE_MAX = 32
# More than this could not be answered in time. One organization gets at most half.
CALLS_MAX = 512

_log = structlog.get_logger("holdfast.inventory")


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
        self._threads = ThreadPoolExecutor(CALLS_AT_ONCE_MAX, "holdfast-inventory")
        self._lock = threading.Lock()
        self._calls: Counter[OrganizationId] = Counter()

    def stop(self) -> None:
        """Wait for the calls under way. Each ends within seconds, and its hold is settled."""
        self._threads.shutdown()

    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        future: Future[Answer] = Future()
        future.set_running_or_notify_cancel()
        self.submit_for_callback(command, render, future.set_result)
        return future

    def submit_for_callback(
        self, command: Command, render: Render | None, deliver: Deliver
    ) -> None:
        if isinstance(command, FillCart | RenewCart):
            self._refuse(command, not_with_remote_inventory("Carts"), deliver)
        elif not isinstance(command, PlaceHold):
            self._engine.submit_for_callback(command, render, deliver)
        elif not self._enter(command.organization_id):
            self._refuse(command, refusals.service_unavailable(), deliver)
        else:
            intent = replace(command, is_remote=True)
            ask = partial(self._intended, intent, render, deliver)
            self._engine.submit_for_callback(intent, render, ask)

    def _refuse(self, command: Command, refusal: Refusal, deliver: Deliver) -> None:
        """Refuse a command that never reaches the engine."""
        self._refused(command, refusal)
        deliver(Answer(refusal))

    def _enter(self, organization_id: OrganizationId) -> bool:
        with self._lock:
            is_full = self._calls.total() >= CALLS_MAX
            if is_full or self._calls[organization_id] >= CALLS_MAX // 2:
                return False
            if not self._circuit.may_try():
                return False
            self._calls[organization_id] += 1
            return True

    def _leave(self, organization_id: OrganizationId) -> None:
        with self._lock:
            self._calls[organization_id] -= 1
            if not self._calls[organization_id]:
                del self._calls[organization_id]

    def _intended(
        self, intent: PlaceHold, render: Render | None, deliver: Deliver, answer: Answer
    ) -> None:
        """Runs on the engine's thread."""
        if not isinstance(answer.outcome, AwaitsInventory):
            self._leave(intent.organization_id)
            self._circuit.withdrew()
            deliver(answer)
            return
        ask = partial(self._ask, intent, answer.outcome.hold, render, deliver)
        try:
            self._threads.submit(ask)
        except RuntimeError:  # stopped: the reconciler of another process settles it
            self._leave(intent.organization_id)
            deliver(Answer(refusals.service_unavailable()))

    def _ask(self, intent: PlaceHold, hold: Hold, render: Render | None, deliver: Deliver) -> None:
        settle = SettleHold(
            intent.organization_id, hold.id, intent.origin, self._asked(hold), intent.idempotency
        )
        told = partial(self._settled, settle, deliver)
        self._engine.submit_for_callback(settle, render, told)

    def _asked(self, hold: Hold) -> Refusal | None:
        try:
            refusal = self._inventory.hold(reservation_of(hold))
        except InventoryUnavailable as error:
            self._circuit.failed()
            _log.warning("inventory.unavailable", hold_id=str(hold.id), reason=error.reason)
            return refusals.service_unavailable()
        except InventoryConflict as error:
            self._circuit.succeeded()
            _log.error("inventory.conflict", hold_id=str(hold.id), reason=error.reason)
            return refusals.service_unavailable()
        except Exception:
            self._circuit.failed()
            _log.exception("inventory.failed", hold_id=str(hold.id))
            return refusals.service_unavailable()
        self._circuit.succeeded()
        return refusal

    def _settled(self, settle: SettleHold, deliver: Deliver, answer: Answer) -> None:
        """Runs on the engine's thread."""
        self._leave(settle.organization_id)
        deliver(answer)
        if answer.is_replay:
            # Another request with the same key was faster, and has a hold of its own.
            abandon = replace(settle, refusal=refusals.service_unavailable(), idempotency=None)
            self._engine.submit_for_callback(abandon, None, _ignore)


def _ignore(_: Answer) -> None:
    """If this did not work, the reconciler settles it."""
