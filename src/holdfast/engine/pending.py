"""A command on its way through the engine."""

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
    """`deadline` is on the monotonic clock of this process; the hold's times never are."""

    command: Command
    render: Render | None
    deadline: float
    leave: Callable[["Pending"], None]
    future: Future[Answer] = field(default_factory=Future)
    submitted_at: float = field(default_factory=time.monotonic)
    rounds: int = 0
    fruitless_rounds: int = 0
    overtaken_rounds: int = 0
    last_resort: Refusal | None = None  # what to answer instead of 503
    learnt: NeedsMore = NOTHING_MORE  # what earlier rounds found to be missing
    is_large: bool = False  # too much for the main lane
    same_key_since: float | None = None  # since when another request with its key is in the way

    def answer(self, answer: Answer) -> None:
        """The first answer stands. Leaving comes first, so that who reads the answer finds room."""
        if self.future.done():
            return
        self.leave(self)
        self.future.set_result(answer)

    def refuse(self, refusal: Refusal) -> None:
        self.answer(Answer(refusal))
