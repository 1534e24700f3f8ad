"""Liveness asks only the process; readiness also checks its dependencies."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
import pytest
from starlette.applications import Starlette

from holdfast.entrypoints.asgi import health
from holdfast.entrypoints.asgi.health import Readiness, health_routes
from holdfast.ports.health import Dependency


@dataclass
class Checked:
    name: str
    answer: Callable[[], str | None] = lambda: None
    is_required: bool = True
    count: int = 0
    threads: set[int] = field(default_factory=set)

    def problem(self) -> str | None:
        self.count += 1
        self.threads.add(threading.get_ident())
        return self.answer()


def get(path: str, *dependencies: Dependency, times: int = 1) -> list[httpx.Response]:
    app = Starlette(routes=health_routes(Readiness(dependencies)))

    async def calls() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://health") as client:
            return await asyncio.gather(*(client.get(path) for _ in range(times)))

    return asyncio.run(calls())


def test_the_process_is_alive_whatever_is_missing() -> None:
    (answer,) = get("/healthz", Checked("database", lambda: "cannot be reached"))
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_the_process_is_ready_when_every_check_passes() -> None:
    (answer,) = get("/readyz", Checked("database"), Checked("engine"))
    assert answer.status_code == 200
    assert answer.json() == {"status": "ready", "checks": {"database": "ok", "engine": "ok"}}
    assert answer.headers["cache-control"] == "no-store"


def test_a_missing_required_dependency_means_not_ready() -> None:
    (answer,) = get("/readyz", Checked("database", lambda: "cannot be reached"))
    assert answer.status_code == 503
    expected = {"status": "unavailable", "checks": {"database": "cannot be reached"}}
    assert answer.json() == expected


def test_an_optional_dependency_may_be_missing() -> None:
    hint = Checked("redis", lambda: "cannot be reached", is_required=False)
    (answer,) = get("/readyz", Checked("database"), hint)
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    assert answer.json()["checks"]["redis"] == "cannot be reached"


def test_a_failed_check_does_not_reveal_why() -> None:
    def fail() -> str | None:
        raise RuntimeError("postgresql://user:secret@host")

    (answer,) = get("/readyz", Checked("database", fail))
    assert (answer.status_code, answer.json()["checks"]) == (503, {"database": "the check failed"})


def test_a_hanging_check_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "CHECK_SECONDS_MAX", 0.05)
    release = threading.Event()
    hanging = Checked("database", lambda: str(release.wait(60)))
    (answer,) = get("/readyz", hanging, Checked("engine"))
    release.set()
    assert answer.status_code == 503
    assert answer.json()["checks"] == {"database": "no answer within 0.05 s", "engine": "ok"}


def test_concurrent_probes_share_one_check_off_the_event_loop() -> None:
    database = Checked("database")
    answers = get("/readyz", database, times=50)
    assert {answer.status_code for answer in answers} == {200}
    assert database.count == 1
    assert threading.get_ident() not in database.threads
