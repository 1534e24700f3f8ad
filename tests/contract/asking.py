"""Ask the engine, and say what kind of answer is expected."""

from holdfast.domain.commands import Command, ConvertHolds, ExtendHold, StartCheckout, WarnHolds
from holdfast.domain.hold import Hold
from holdfast.domain.ids import HoldId
from holdfast.domain.outcomes import (
    CheckoutStarted,
    Converted,
    Extended,
    Outcome,
    Placed,
    Warned,
)
from holdfast.domain.refusals import Refusal
from holdfast.engine import Admission
from holdfast.ports.engine import Answer


def ask(engine: Admission, command: Command) -> Outcome:
    outcome = engine.submit(command, render_plainly).result(10).outcome
    assert outcome is not None
    return outcome


def answer(engine: Admission, command: Command) -> Answer:
    return engine.submit(command, render_plainly).result(10)


def render_plainly(outcome: Outcome) -> bytes:
    return repr(outcome).encode()


def placed(engine: Admission, command: Command) -> Hold:
    outcome = ask(engine, command)
    assert isinstance(outcome, Placed), outcome
    return outcome.hold


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


def warned(engine: Admission, command: WarnHolds) -> tuple[HoldId, ...]:
    outcome = ask(engine, command)
    assert isinstance(outcome, Warned), outcome
    return outcome.hold_ids


def refused(engine: Admission, command: Command) -> Refusal:
    outcome = ask(engine, command)
    assert isinstance(outcome, Refusal), outcome
    return outcome
