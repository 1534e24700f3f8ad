"""A server that kills itself at a given point, as by kill -9: while the engine runs a command of
this type, in a run of a duty, or while it calls the Inventory Service. Python imports this file
first when its directory is on PYTHONPATH."""

import os
import signal
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from holdfast.adapters.postgres.engine import group
from holdfast.adapters.postgres.engine.group import PostgresGroup
from holdfast.adapters.postgres.engine.writes import write_group
from holdfast.engine.group import GroupRunner
from holdfast.services.holds.reaper import Reaper

COMMAND, POINT = os.environ["DIE_WITH"], os.environ["DIE"]
_at_hand = threading.local()


def _die() -> None:
    """Kill the whole process group: a single process would be replaced, and its successor would die
    too."""
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _watch(attempt: Callable[..., None]) -> Callable[..., None]:
    @wraps(attempt)
    def watched(runner: GroupRunner, pendings: Any, *arguments: Any) -> None:
        _at_hand.is_wanted = any(type(each.command).__name__ == COMMAND for each in pendings)
        attempt(runner, pendings, *arguments)

    return watched


def _dying(step: Callable[..., Any], is_after: bool) -> Callable[..., Any]:
    @wraps(step)
    def dying(*arguments: Any, **options: Any) -> Any:
        if getattr(_at_hand, "is_wanted", False) and not is_after:
            _die()
        result = step(*arguments, **options)
        if getattr(_at_hand, "is_wanted", False):
            _die()
        return result

    return dying


def _dying_before_commit(write: Callable[..., None]) -> Callable[..., None]:
    @wraps(write)
    def dying(connection: Any, *arguments: Any) -> None:
        write(connection, *arguments)
        connection.send()
        # The server has answered: everything is written, nothing committed.
        if getattr(_at_hand, "is_wanted", False):
            _die()

    return dying


def _dying_reaper(step: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(step)
    def dying(reaper: Reaper, *arguments: Any) -> Any:
        result = step(reaper, *arguments)
        if result:
            _die()
        return result

    return dying


def _die_around(owner: type, name: str, *, is_after: bool) -> None:
    """At the first call of this method."""
    step = getattr(owner, name)

    @wraps(step)
    def dying(*arguments: Any, **options: Any) -> None:
        if is_after:
            step(*arguments, **options)
        _die()

    setattr(owner, name, dying)


GroupRunner._attempt = _watch(GroupRunner._attempt)  # type: ignore[method-assign]
match POINT:
    case "before the locks":
        PostgresGroup.lock_and_read = _dying(PostgresGroup.lock_and_read, False)  # type: ignore
    case "after the locks":
        PostgresGroup.lock_and_read = _dying(PostgresGroup.lock_and_read, True)  # type: ignore
    case "before the writes":
        PostgresGroup.write_and_commit = _dying(  # type: ignore[method-assign]
            PostgresGroup.write_and_commit, False
        )
    case "before COMMIT":
        vars(group)["write_group"] = _dying_before_commit(write_group)
    case "after COMMIT":
        PostgresGroup.write_and_commit = _dying(  # type: ignore[method-assign]
            PostgresGroup.write_and_commit, True
        )
    case "after the look":
        Reaper.due = _dying_reaper(Reaper.due)  # type: ignore[method-assign]
    case "after the run":
        Reaper.run_once = _dying_reaper(Reaper.run_once)  # type: ignore[method-assign]
    case "before the call" | "after the call":
        from holdfast.adapters.inventory.client import HttpInventory

        _die_around(HttpInventory, "hold", is_after=POINT == "after the call")
    case "after asking" | "after mending":
        from holdfast.services.inventory.mending import Mender

        step = "look" if POINT == "after asking" else "take"
        _die_around(Mender, step, is_after=True)
    case "after publishing":
        from holdfast.adapters.rabbitmq.publisher import RabbitPublisher

        _die_around(RabbitPublisher, "publish", is_after=True)
    case _:
        raise AssertionError(POINT)
