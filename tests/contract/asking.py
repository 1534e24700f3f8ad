"""Ask the engine, and say what kind of answer is expected."""

from holdfast.domain.commands import Command
from holdfast.domain.hold import Hold
from holdfast.domain.outcomes import Outcome, Placed
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


def refused(engine: Admission, command: Command) -> Refusal:
    outcome = ask(engine, command)
    assert isinstance(outcome, Refusal), outcome
    return outcome
