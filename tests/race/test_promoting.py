"""Many places are freed at once, more than one transaction gives away: the promoter does the rest,
in the order of the line."""

from math import ceil

import pytest

from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.domain.waitlist.queues import PROMOTIONS_MAX
from holdfast.services.holds.reaper import Reaper
from tests.race.guards import TwoEngines
from tests.race.lines import (
    ANSWER_SECONDS,
    HOUSES,
    SoldOut,
    promoter_of,
    run_to_the_end,
    sold_out,
    waiting,
)
from tests.support.auditing import assert_sound, rows

CROWD = 200
# A run may find that a seat it had looked at was not to be had.
RUNS_MAX = 2 * ceil(CROWD / PROMOTIONS_MAX)

PROMOTED = """
SELECT hold_id FROM outbox WHERE organization_id = %s AND type = 'hold.promoted'
ORDER BY occurred_at, xid, seq
"""


def promoted(sale: SoldOut) -> list[object]:
    found = rows(sale.world.url, PROMOTED, sale.venue.organization_id)
    return [hold_id for (hold_id,) in found]


@pytest.mark.parametrize("house", HOUSES)
def test_two_hundred_that_lapse_at_once_go_to_the_two_hundred_who_wait(
    two_engines: TwoEngines, house: str
) -> None:
    """The reaper is on one engine, the promoter on the other."""
    world, engines = two_engines
    sale = sold_out(world, engines[0], CROWD, house)
    futures = [engines[0].submit(sale.buy()) for _ in range(CROWD)]
    waiters = [waiting(future.result(ANSWER_SECONDS).outcome) for future in futures]
    world.let_pass(sale.venue, 601)
    database = Database(world.url)
    database.open()
    assert Reaper(PostgresHolds(database), engines[0]).run_once().processed_successfully == CROWD
    database.close()
    assert promoted(sale), "in the very transactions that freed the places"
    with promoter_of(world, engines[1]) as promoter:
        run_to_the_end(promoter, RUNS_MAX)
    # Who came at the same instant stands by id.
    since = {hold.id: (hold.created_at, hold.id) for hold in waiters}
    assert promoted(sale) == sorted(since, key=since.__getitem__)
    assert sale.free() == 0
    assert_sound(world.url)
