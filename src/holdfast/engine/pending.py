"""A submitted command and its state in the engine."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import NOTHING_MORE, NeedsMore
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.engine import Answer, Render


@dataclass(slots=True, eq=False)
class Pending:
    """`deadline` is on this process's monotonic clock, unlike the times of holds."""

    command: Command
    render: Render | None
    deadline: float
    leave: Callable[["Pending"], None]
    future: Future[Answer] = field(default_factory=Future)
    submitted_at: float = field(default_factory=time.monotonic)
    rounds: int = 0
    fruitless_rounds: int = 0
    overtaken_rounds: int = 0
    last_resort: Refusal | None = None  # the answer instead of 503
    learnt: NeedsMore = NOTHING_MORE  # found missing by earlier rounds
    is_large: bool = False  # too large for the main lane
    same_key_since: float | None = None  # when another request with its key first blocked it

    def answer(self, answer: Answer) -> None:
        """Set the answer unless there is one. It leaves the queue first, to make room for the
        caller's next request."""
        if self.future.done():
            return
        self.leave(self)
        self.future.set_result(answer)

    def refuse(self, refusal: Refusal) -> None:
        self.answer(Answer(refusal))
