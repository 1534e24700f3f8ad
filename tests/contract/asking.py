"""Submit a command and assert the kind of its outcome."""

from collections.abc import Mapping

from holdfast.domain.carts.empty_cart import EmptyCart
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import (
    CartChanged,
    CartEmptied,
    CheckoutStarted,
    Converted,
    Explained,
    Extended,
    HoldPromoted,
    OrderCancelled,
    Outcome,
    Placed,
    Promoted,
    RefundRecorded,
    Waiting,
    Warned,
)
from holdfast.domain.holds.due_holds import WarnHolds
from holdfast.domain.holds.extend_hold import ExtendHold
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId
from holdfast.domain.orders.cancel_order import CancelOrder
from holdfast.domain.orders.convert_holds import ConvertHolds
from holdfast.domain.orders.record_refund import RecordRefund
from holdfast.domain.orders.start_checkout import StartCheckout
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.waitlist.explain_waiting import ExplainWaiting
from holdfast.domain.waitlist.obstacles import Explanation
from holdfast.domain.waitlist.promote_hold import PromoteHold
from holdfast.domain.waitlist.promote_waiting import PromoteWaiting
from holdfast.engine import Admission, Limits
from holdfast.ports.engine import Answer
from holdfast.ports.store import Store
from tests.support.patience import PATIENCE_SECONDS


def ask(engine: Admission, command: Command) -> Outcome:
    outcome = engine.submit(command, render_plainly).result(60).outcome
    assert outcome is not None
    return outcome


def answer(engine: Admission, command: Command) -> Answer:
    return engine.submit(command, render_plainly).result(60)


def in_one_group(store: Store, *commands: Command) -> list[Outcome | None]:
    """Run the commands as one group: the engine starts after all are submitted."""
    engine = Admission(store, Limits(deadline_seconds=PATIENCE_SECONDS))
    futures = [engine.submit(command, render_plainly) for command in commands]
    engine.start()
    try:
        return [future.result(60).outcome for future in futures]
    finally:
        engine.stop()


def render_plainly(outcome: Outcome) -> bytes:
    return repr(outcome).encode()


def placed(engine: Admission, command: Command) -> Hold:
    outcome = ask(engine, command)
    assert isinstance(outcome, Placed), outcome
    return outcome.hold


def waiting(engine: Admission, command: Command) -> Hold:
    outcome = ask(engine, command)
    assert isinstance(outcome, Waiting), outcome
    return outcome.hold


def changed(engine: Admission, command: Command) -> Hold:
    """The cart's hold after a command that changed it."""
    outcome = ask(engine, command)
    assert isinstance(outcome, CartChanged), outcome
    assert not outcome.is_repeat
    return outcome.hold


def unchanged(engine: Admission, command: Command) -> Hold:
    """The cart's hold after a command that changed nothing."""
    outcome = ask(engine, command)
    assert isinstance(outcome, CartChanged), outcome
    assert outcome.is_repeat
    return outcome.hold


def emptied(engine: Admission, command: EmptyCart) -> Hold | None:
    outcome = ask(engine, command)
    assert isinstance(outcome, CartEmptied), outcome
    return outcome.hold


def promoted(engine: Admission, command: PromoteWaiting) -> None:
    assert isinstance(ask(engine, command), Promoted)


def promoted_by_hand(engine: Admission, command: PromoteHold) -> HoldPromoted:
    outcome = ask(engine, command)
    assert isinstance(outcome, HoldPromoted), outcome
    return outcome


def explained(engine: Admission, command: ExplainWaiting) -> Mapping[HoldId, Explanation | None]:
    outcome = ask(engine, command)
    assert isinstance(outcome, Explained), outcome
    return outcome.parties


def extended(engine: Admission, command: ExtendHold) -> Hold:
    outcome = ask(engine, command)
    assert isinstance(outcome, Extended), outcome
    return outcome.hold


def started(engine: Admission, command: StartCheckout) -> CheckoutStarted:
    outcome = ask(engine, command)
    assert isinstance(outcome, CheckoutStarted), outcome
    return outcome


def converted(engine: Admission, command: ConvertHolds) -> Converted:
    outcome = ask(engine, command)
    assert isinstance(outcome, Converted), outcome
    return outcome


def cancelled(engine: Admission, command: CancelOrder) -> OrderCancelled:
    outcome = ask(engine, command)
    assert isinstance(outcome, OrderCancelled), outcome
    return outcome


def recorded(engine: Admission, command: RecordRefund) -> RefundRecorded:
    outcome = ask(engine, command)
    assert isinstance(outcome, RefundRecorded), outcome
    return outcome


def warned(engine: Admission, command: WarnHolds) -> tuple[HoldId, ...]:
    outcome = ask(engine, command)
    assert isinstance(outcome, Warned), outcome
    return outcome.hold_ids


def refused(engine: Admission, command: Command) -> Refusal:
    outcome = ask(engine, command)
    assert isinstance(outcome, Refusal), outcome
    return outcome
