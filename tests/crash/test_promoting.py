"""kill -9 at each step of a promoter run: promotions happen as a whole, and the next run continues
in order."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from holdfast.domain.waitlist.queues import PROMOTIONS_MAX
from holdfast.engine import Admission
from tests.contract.worlds import PostgresWorld
from tests.crash.points import AFTER_COMMIT, POINTS, await_death, dying_server
from tests.race.lines import add_capacity, promoter_of, run_to_the_end, sold_out
from tests.support.auditing import assert_sound, rows
from tests.support.servers import RunningServer

CROWD = 2 * PROMOTIONS_MAX + 5

PROMOTED = """
SELECT hold_id FROM outbox WHERE type = 'hold.promoted' ORDER BY occurred_at, xid, seq
"""


@pytest.mark.parametrize("point", POINTS)
def test_a_promoter_continues_after_one_was_killed(
    fresh_world: PostgresWorld,
    fresh_engine: Admission,
    make_server: Callable[..., RunningServer],
    point: str,
) -> None:
    sale = sold_out(fresh_world, fresh_engine, 1)
    waiters = [sale.join().id for _ in range(CROWD)]
    add_capacity(sale, CROWD)
    dying = dying_server(make_server, fresh_world.url, "PromoteWaiting", point)
    with suppress(AssertionError):
        dying.start()  # usually it is dead before it is ready
    await_death(dying)
    done = [hold_id for (hold_id,) in rows(fresh_world.url, PROMOTED)]
    assert done == waiters[: PROMOTIONS_MAX if point == AFTER_COMMIT else 0]
    assert_sound(fresh_world.url)
    with promoter_of(fresh_world, fresh_engine) as promoter:
        run_to_the_end(promoter)
    assert [hold_id for (hold_id,) in rows(fresh_world.url, PROMOTED)] == waiters
    assert sale.free() == 0
    assert_sound(fresh_world.url)
