"""More places are freed at once than one transaction gives away; the promoter gives away the rest
in waitlist order."""

from math import ceil

import pytest

from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.domain.waitlist.queues import PROMOTIONS_MAX
from holdfast.services.holds.reaper import Reaper
from tests.race.guards import TwoEngines
from tests.race.lines import (
    ANSWER_SECONDS,
    AREAS,
    SoldOut,
    promoter_of,
    run_to_the_end,
    sold_out,
    waiting,
)
from tests.support.auditing import assert_sound, rows

CROWD = 200
# A run may find that a seat it read is no longer free.
RUNS_MAX = 2 * ceil(CROWD / PROMOTIONS_MAX)

PROMOTED = """
SELECT hold_id FROM outbox WHERE organization_id = %s AND type = 'hold.promoted'
ORDER BY occurred_at, xid, seq
"""


def promoted(sale: SoldOut) -> list[object]:
    found = rows(sale.world.url, PROMOTED, sale.venue.organization_id)
    return [hold_id for (hold_id,) in found]


@pytest.mark.parametrize("area", AREAS)
def test_places_of_many_holds_expiring_at_once_go_to_the_waitlist(
    two_engines: TwoEngines, area: str
) -> None:
    """The reaper runs on one engine, the promoter on the other."""
    world, engines = two_engines
    sale = sold_out(world, engines[0], CROWD, area)
    futures = [engines[0].submit(sale.buy()) for _ in range(CROWD)]
    waiters = [waiting(future.result(ANSWER_SECONDS).outcome) for future in futures]
    world.let_pass(sale.venue, 601)
    database = Database(world.url)
    database.open()
    assert Reaper(PostgresHolds(database), engines[0]).run_once().processed_successfully == CROWD
    database.close()
    assert promoted(sale), "the transactions that freed places promoted nobody"
    with promoter_of(world, engines[1]) as promoter:
        run_to_the_end(promoter, RUNS_MAX)
    # Ties are broken by id.
    since = {hold.id: (hold.created_at, hold.id) for hold in waiters}
    assert promoted(sale) == sorted(since, key=since.__getitem__)
    assert sale.free() == 0
    assert_sound(world.url)
