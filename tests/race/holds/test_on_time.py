"""Holds expire on time: the reaper wakes when the next one is due, not at its next round."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.bootstrap.duties import Duty, DutyThread
from holdfast.domain.policy import HoldPolicy
from holdfast.engine import Admission
from holdfast.services.holds.reaper import Reaper
from tests.contract.asking import placed
from tests.contract.venues import Plan
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import assert_sound, rows
from tests.support.patience import PATIENT
from tests.support.platform import new_platform
from tests.support.servers import RunningServer

# The goal is about a second; a busy machine may take longer.
LATE_SECONDS_MAX = 5.0
GIVE_UP_SECONDS = 60.0

LATENESS = """
SELECT extract(epoch FROM o.occurred_at - h.expires_at)::float, o.type
FROM hold h JOIN outbox o ON o.organization_id = h.organization_id AND o.hold_id = h.id
WHERE o.type IN ('hold.expiring', 'hold.expired')
"""


def await_facts(url: str, count: int) -> list[tuple[Any, ...]]:
    give_up_at = time.monotonic() + GIVE_UP_SECONDS
    while len(seen := rows(url, LATENESS)) < count:
        assert time.monotonic() < give_up_at, f"{len(seen)} of {count}"
        time.sleep(0.1)
    return seen


@pytest.mark.alone
def test_holds_ending_at_different_seconds_each_expire_on_time(
    make_server: Callable[..., RunningServer], fresh_database_url: str
) -> None:
    server = make_server(fresh_database_url, HOLDFAST_LOG_LEVEL="warning").start()
    platform = new_platform(server.base_url, fresh_database_url)
    sales = [platform.on_sale(10, hold_policy={"ttl_seconds": ttl}) for ttl in (1, 2, 3, 4)]
    for sale in sales * 5:
        assert platform.place(sale).status_code == 201
    seen = await_facts(fresh_database_url, 20)
    assert {kind for _, kind in seen} == {"hold.expired"}, "too short to be warned"
    lateness = [seconds for seconds, _ in seen]
    assert min(lateness) >= 0, "never early"
    assert max(lateness) < LATE_SECONDS_MAX
    assert_sound(fresh_database_url, grace_seconds=1)


@pytest.mark.alone
def test_a_reaper_with_a_minute_interval_wakes_for_each_warning_and_expiry(
    fresh_database_url: str,
) -> None:
    world = PostgresWorld(fresh_database_url)
    engine = Admission(world.store, PATIENT)
    engine.start()
    for ttl_seconds in (4, 5, 6):
        policy = HoldPolicy(ttl_seconds, warning_seconds=3)
        venue = world.build(Plan({"floor": 1}, {"standing": ("floor",)}, policy))
        hold = placed(engine, venue.place(("standing", 1)))
        assert hold.warn_at == hold.expires_at - timedelta(seconds=3)
    database = Database(fresh_database_url)
    database.open()
    reaper = Reaper(PostgresHolds(database), engine)
    thread = DutyThread(Duty("reaper", lambda: reaper.tend(interval_seconds=60)))
    thread.start()
    seen = await_facts(fresh_database_url, 6)
    thread.stop(timeout_seconds=10)
    database.close()
    engine.stop()
    world.close()
    warned = [seconds for seconds, kind in seen if kind == "hold.expiring"]
    expired = [seconds for seconds, kind in seen if kind == "hold.expired"]
    assert (len(warned), len(expired)) == (3, 3)
    assert all(-3 <= seconds < 0 for seconds in warned), "in time before the end"
    assert all(0 <= seconds < LATE_SECONDS_MAX for seconds in expired)
