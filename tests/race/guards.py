"""Helpers for the controls: remove guards, and count transactions that block each other."""

import random
import threading
import time
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import pytest

from holdfast.adapters.postgres.engine import group as group_module
from holdfast.adapters.postgres.engine import statements
from holdfast.adapters.postgres.engine.group import advisory_name
from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.domain.holds import place_hold, preconditions
from holdfast.engine import Admission, verdicts
from holdfast.ports.store import Contended, Wanted
from tests.contract.worlds import PostgresWorld

TwoEngines = tuple[PostgresWorld, list[Admission]]
ROUNDS_MAX = 100
ROW_LOCK = "FOR NO KEY UPDATE SKIP LOCKED"


def without(monkeypatch: pytest.MonkeyPatch, name: str, guard: str = ROW_LOCK) -> None:
    """Remove a guard from a statement. OFFSET 0 keeps the shape of the plan."""
    guarded: str = getattr(statements, name)
    assert guard in guarded
    monkeypatch.setattr(statements, name, guarded.replace(guard, "OFFSET 0"))
    monkeypatch.setattr(group_module, "_WAITED_FOR", {})


def unlocked(monkeypatch: pytest.MonkeyPatch, kind: ResourceKind) -> None:
    """Make the advisory locks of this kind ineffective."""

    def somewhere_else(resource: Resource) -> int:
        return uuid4().int >> 65 if resource.kind is kind else advisory_name(resource)

    monkeypatch.setattr(group_module, "advisory_name", somewhere_else)


def without_promotion(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that frees places promotes nobody, as if a separate job promoted later."""
    monkeypatch.setattr(verdicts, "settle", lambda *_, **__: [])


def without_waitlist_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newcomers may take what others wait for."""
    monkeypatch.setattr(preconditions, "passes", lambda *_: ())
    monkeypatch.setattr(place_hold, "is_behind_queue", lambda *_: False)


def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Act a moment after reading, so that two engines surely collide."""
    monkeypatch.setattr(statements, "CLOCK", statements.CLOCK + ", pg_sleep(0.02)")


def late_to_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lock up to a moment after the survey, so that the other engine often commits in between."""
    lock_and_read = group_module.PostgresGroup.lock_and_read

    def later(group: group_module.PostgresGroup, *wanted: Any) -> Any:
        time.sleep(random.uniform(0, 0.02))
        return lock_and_read(group, *wanted)

    monkeypatch.setattr(group_module.PostgresGroup, "lock_and_read", later)


def contentions(world: PostgresWorld, resources: Iterable[Resource], rounds: int) -> int:
    """Count failures of two transactions that lock all of these and wait for the last."""
    wanted = Wanted(frozenset(resources))
    contended = []

    def lock_all() -> None:
        connection = PostgresWorld(world.url).store.connect()
        for _ in range(rounds):
            try:
                with connection.group() as group:
                    group.lock_and_read(wanted, max(wanted.resources))
            except Contended as error:
                contended.append(error)
                break
        connection.close()

    threads = [threading.Thread(target=lock_all, name=f"locker-{n}") for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(contended)


def wait_in_two_orders(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let both transactions of `contentions` wait for every lock, one in reverse order."""

    def one_forwards_one_backwards(resources: Any, key: Any) -> list[Resource]:
        is_backwards = threading.current_thread().name == "locker-1"
        return sorted(resources, key=key, reverse=is_backwards)

    waiting = getattr(statements, name).replace("SKIP LOCKED", "")
    monkeypatch.setattr(statements, name, waiting)
    monkeypatch.setattr(group_module, "_WAITED_FOR", {})
    monkeypatch.setattr(group_module, "sorted", one_forwards_one_backwards, raising=False)
