"""kill -9 at each step of a reaper run: the next run continues, and every hold ends once."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.domain.holds.hold import Hold
from holdfast.engine import Admission
from holdfast.services.holds.reaper import Reaper
from tests.contract.asking import placed
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.crash.points import POINTS, await_death, dying_server
from tests.support.auditing import assert_sound, rows
from tests.support.servers import RunningServer

HALL = Hall({"Stalls": {"A": 20}}, {"seat": ()})
COMMITTED = {"after COMMIT", "after the run"}


def hold_all(fresh_engine: Admission, venue: Venue) -> list[Hold]:
    """Make more holds than one command of the reaper expires."""
    holds = [placed(fresh_engine, venue.seats(name)) for name in venue.places]
    return holds + [placed(fresh_engine, venue.place(("standing", 1))) for _ in range(20)]


@pytest.mark.parametrize("point", [*POINTS, "after the look", "after the run"])
def test_a_reaper_continues_after_one_was_killed(
    fresh_world: PostgresWorld,
    fresh_engine: Admission,
    make_server: Callable[..., RunningServer],
    point: str,
) -> None:
    venue = fresh_world.build(Plan({"floor": 30}, {"standing": ("floor",)}, hall=HALL))
    ended = hold_all(fresh_engine, venue)
    fresh_world.let_pass(venue, 601)
    live = placed(fresh_engine, venue.place(("standing", 3)))
    dying = dying_server(make_server, fresh_world.url, "ExpireHolds", point)
    with suppress(AssertionError):
        dying.start()  # usually it is dead before it is ready
    await_death(dying)
    expired = "SELECT count(*) FROM hold WHERE status = 'expired'"
    ((count,),) = rows(fresh_world.url, expired)
    assert (count > 0) is (point in COMMITTED), "it died there"
    assert_sound(fresh_world.url)

    database = Database(fresh_world.url)
    database.open()
    reaper = Reaper(PostgresHolds(database), fresh_engine)
    while reaper.run_once().found:
        pass
    database.close()
    counts = rows(
        fresh_world.url,
        "SELECT hold_id, count(*) FROM outbox WHERE type = 'hold.expired' GROUP BY 1",
    )
    assert dict(counts) == {hold.id: 1 for hold in ended}
    assert fresh_world.holds(venue)[live.id].status == "active"
    assert fresh_world.pool(venue.pools["floor"]).held == 3
    assert {seat.status for seat in fresh_world.seats(venue).values()} == {"available"}
    assert_sound(fresh_world.url, grace_seconds=60)
