"""PostgreSQL missing at the start or during a run: a clear 503, and automatic recovery."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from holdfast.adapters.embedded import EmbeddedPostgres
from holdfast.bootstrap.database import migrate
from holdfast.bootstrap.settings import Settings
from tests.support.auditing import assert_sound, rows
from tests.support.crowds import Crowd, Reply
from tests.support.platform import new_platform
from tests.support.servers import RunningServer


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres(tmp_path / "postgres") as running:
        migrate(Settings(database_url=running.url), report=lambda _: None)
        yield running


def assert_unavailable(answer: httpx.Response) -> None:
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1
    problem = answer.json()
    assert problem["error"] == "service_unavailable"
    assert problem["message"] == "Unable to process hold request. Please try again."


def test_a_server_without_a_database_starts_and_waits_for_it(
    postgres: EmbeddedPostgres, make_server: Callable[..., RunningServer]
) -> None:
    url = postgres.url
    setup = make_server(url).start()
    platform = new_platform(setup.base_url, url)
    sale = platform.on_sale(10)
    setup.stop()
    postgres.stop()

    server = make_server(url).start(until_ready=False)
    server.wait_for("/readyz", 503)
    checks = httpx.get(server.base_url + "/readyz").json()["checks"]
    assert checks["database"] != "ok"
    platform = type(platform)(server.base_url, platform.secret_key, platform.organization_id)
    assert_unavailable(platform.place(sale))

    postgres.start()
    assert postgres.url == url
    server.wait_for("/readyz")
    assert platform.place(sale).status_code == 201
    assert_sound(url)


def test_a_database_killed_under_load_loses_nothing(
    postgres: EmbeddedPostgres, make_server: Callable[..., RunningServer]
) -> None:
    server = make_server(postgres.url, HOLDFAST_LOG_LEVEL="error").start()
    platform = new_platform(server.base_url, postgres.url)
    sale = platform.on_sale(5000)
    crowd = Crowd(platform, 8)
    bodies = [platform.hold_body(sale) for _ in range(800)]

    first = crowd.spread(lambda n: crowd.place(bodies[n], f"k{n}"), range(200))
    assert {reply.status for reply in first} == {201}
    postgres.kill()
    during = crowd.spread(lambda n: crowd.place(bodies[n], f"k{n}"), range(200, 400))
    assert {reply.status for reply in during} == {503}
    server.wait_for("/readyz", 503)

    postgres.start()
    server.wait_for("/readyz")
    again = crowd.spread(lambda n: crowd.place(bodies[n], f"k{n}"), range(400))
    crowd.close()
    assert {reply.status for reply in again} == {201}
    for before, after in zip(first, again, strict=False):
        assert after.is_replay
        assert after.body == before.body
    assert rows(postgres.url, "SELECT count(*) FROM hold") == [(400,)]
    assert_sound(postgres.url)


def test_a_database_killed_during_a_burst_makes_one_hold_per_key(
    postgres: EmbeddedPostgres, make_server: Callable[..., RunningServer]
) -> None:
    """Groups are interrupted anywhere, COMMIT included. A repeated key gets one hold."""
    server = make_server(postgres.url, HOLDFAST_LOG_LEVEL="error").start()
    platform = new_platform(server.base_url, postgres.url)
    sale = platform.on_sale(5000)
    crowd = Crowd(platform, 16)
    bodies = [platform.hold_body(sale) for _ in range(600)]

    def send(number: int) -> Reply:
        if number == 300:
            postgres.kill()
        return crowd.place(bodies[number], f"k{number}")

    before = crowd.spread(send, range(600))
    assert {reply.status for reply in before} <= {201, 503}
    postgres.start()
    server.wait_for("/readyz")
    after = crowd.spread(lambda n: crowd.place(bodies[n], f"k{n}"), range(600))
    crowd.close()
    assert {reply.status for reply in after} == {201}
    for first, second in zip(before, after, strict=True):
        if first.status == 201:
            assert second.body == first.body
    assert rows(postgres.url, "SELECT count(*) FROM hold") == [(600,)]
    assert_sound(postgres.url)
