"""What services need of the engine: hand in a command, get a future."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Outcome
from holdfast.domain.group.transitions import SeatTransition, Transition
from holdfast.domain.refusal_codes import Refusal


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a command. `body` is what was rendered for an idempotency key: now, or, when
    `is_replay`, the first time."""

    outcome: Outcome | None
    body: bytes | None = None
    is_replay: bool = False


# Turns an outcome into the bytes that a repeated request gets again.
Render = Callable[[Outcome], bytes]


class Observer(Protocol):
    """Hears from the engine what came of a group, after everyone was answered. The engine may have
    several. They run on its thread, so they must be quick and must not block."""

    def committed(
        self, transitions: Sequence[Transition], seat_transitions: Sequence[SeatTransition]
    ) -> None: ...

    def refused(self, command: Command, refusal: Refusal) -> None: ...


class Submit(Protocol):
    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        """Never raises and never blocks. The future always gets an answer; an expected "no" is a
        Refusal in it. `render` is needed where the command carries an idempotency key."""
        ...
