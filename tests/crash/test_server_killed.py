"""kill -9 during a burst: no answered request is lost, nothing is held twice, and repeated keys get
the missed answers."""

from collections.abc import Callable

import pytest

from tests.support.auditing import assert_sound, rows
from tests.support.crowds import Crowd, Reply
from tests.support.platform import new_platform
from tests.support.servers import RunningServer

REQUESTS = 600


@pytest.mark.parametrize(
    "at_request", [pytest.param(at, marks=pytest.mark.long) for at in (60, 400)] + [200]
)
def test_a_killed_server_loses_no_answered_request(
    make_server: Callable[..., RunningServer], fresh_database_url: str, at_request: int
) -> None:
    server = make_server(fresh_database_url, HOLDFAST_LOG_LEVEL="warning").start()
    platform = new_platform(server.base_url, fresh_database_url)
    sale = platform.on_sale(400)
    bodies = [platform.hold_body(sale) for _ in range(REQUESTS)]

    def send_all(kill_at: int | None = None) -> list[Reply]:
        # Open new connections: an idle client does not know yet that the server died.
        crowd = Crowd(platform, 16)

        def send(number: int) -> Reply:
            if number == kill_at:
                server.kill()
            return crowd.place(bodies[number], f"key-{number}")

        replies = crowd.spread(send, range(REQUESTS))
        crowd.close()
        return replies

    before = send_all(kill_at=at_request)
    answered = {number for number, reply in enumerate(before) if reply.status == 201}
    assert answered, "the server was killed before it answered anything"
    assert any(reply.status == 0 for reply in before), "the server was not killed in the middle"

    server.start()
    assert_sound(fresh_database_url)
    in_database = {str(row[0]) for row in rows(fresh_database_url, "SELECT id FROM hold")}
    assert {before[number].json()["hold_id"] for number in answered} <= in_database

    after = send_all()
    for number in answered:
        assert after[number].is_replay
        assert after[number].body == before[number].body
    assert sum(reply.status == 201 for reply in after) == 400
    assert sum(reply.status == 409 for reply in after) == REQUESTS - 400
    assert rows(fresh_database_url, "SELECT count(*) FROM hold") == [(400,)]
    assert_sound(fresh_database_url)


def test_sigterm_answers_accepted_requests(
    make_server: Callable[..., RunningServer], fresh_database_url: str
) -> None:
    server = make_server(fresh_database_url, HOLDFAST_LOG_LEVEL="warning").start()
    platform = new_platform(server.base_url, fresh_database_url)
    sale = platform.on_sale(REQUESTS)
    crowd = Crowd(platform, 16)
    bodies = [platform.hold_body(sale) for _ in range(REQUESTS)]

    def send(number: int) -> Reply:
        if number == 200:
            server.stop()
        return crowd.place(bodies[number])

    replies = crowd.spread(send, range(REQUESTS))
    crowd.close()
    assert server.process is not None
    assert server.process.returncode == 0
    # Without a key, only a broken connection may hide a hold.
    placed = {reply.json()["hold_id"] for reply in replies if reply.status == 201}
    in_database = {str(row[0]) for row in rows(fresh_database_url, "SELECT id FROM hold")}
    assert len(placed) >= 150, "requests before the signal were not answered"
    assert placed <= in_database
    # At most one request per client was in flight when its connection was closed.
    assert len(in_database - placed) <= 16
    assert_sound(fresh_database_url)
