"""The engine's interface for services: submit a command, get a future."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol

from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Outcome
from holdfast.domain.group.transitions import SeatTransition, Transition
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order_change import OrderChange
from holdfast.domain.refusal_codes import Refusal


@immutable
class Answer:
    """The answer to a command. `body` is rendered for an idempotency key: now or, with
    `is_replay`, the first time."""

    outcome: Outcome | None
    body: bytes | None = None
    is_replay: bool = False


# Renders an outcome as the bytes that a repeated request gets, too.
Render = Callable[[Outcome], bytes]
# Takes the answer on the engine's thread, so it must be quick and must not raise.
Deliver = Callable[[Answer], None]


class Observer(Protocol):
    """Receives the results of a group after its commands were answered. Observers run on the
    engine's thread, so they must be quick and must not block."""

    def committed(
        self,
        transitions: Sequence[Transition],
        seat_transitions: Sequence[SeatTransition],
        order_changes: Sequence[OrderChange],
    ) -> None: ...

    def refused(self, command: Command, refusal: Refusal) -> None: ...


class Submit(Protocol):
    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        """Submit a command; never raises or blocks. The future always gets an answer, which may be
        a Refusal. `render` is required if the command has an idempotency key."""
        ...


class SubmitForCallback(Submit, Protocol):
    def submit_for_callback(
        self, command: Command, render: Render | None, deliver: Deliver
    ) -> None:
        """The same without a future, which costs as much as everything else that is done to submit
        a command."""
        ...
