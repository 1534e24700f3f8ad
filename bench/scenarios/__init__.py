"""The scenarios, one file each. Add new ones only here."""

from collections.abc import Callable, Sequence

from bench.lab import Lab
from bench.results import Figure
from bench.rounds import Plan
from bench.scenarios import (
    availability,
    best_available,
    carts,
    engine_alone,
    hot_pool,
    latency,
    live_holds,
    neighbour,
    processes,
    random_seats,
    reaper,
    reaper_lag,
    relay,
    replay,
    seat_map,
    spread_pools,
    stampede,
    two_services,
    waitlist,
    waitlist_queues,
)

Scenario = Callable[[Lab, Plan], Sequence[Figure]]

QUICK: tuple[Scenario, ...] = (hot_pool.run, spread_pools.run)
ALL: tuple[Scenario, ...] = (
    *QUICK,
    live_holds.run,
    processes.run,
    latency.run,
    replay.run,
    carts.run,
    waitlist.run,
    waitlist_queues.run,
    availability.run,
    reaper.run,
    reaper_lag.run,
    relay.run,
    engine_alone.run,
    random_seats.run,
    best_available.run,
    stampede.run,
    seat_map.run,
    two_services.run,
    neighbour.run,
)
