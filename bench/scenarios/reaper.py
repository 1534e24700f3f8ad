"""Expiring 200,000 lapsed holds: the rate, and the effect on the sale."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

from bench.lab import POOLS, Lab
from bench.load import LoadRun, place_script, run_wrk, with_counts
from bench.loading import HOUR_SECONDS, load_holds
from bench.placing import WARM_UP_SECONDS, figure_of
from bench.results import Figure, median, relative_spread
from bench.rounds import Plan, alternate
from bench.yardstick import expire_script, run_pgbench
from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.engine import Admission, Limits
from holdfast.services.holds.reaper import Reaper

LAPSED = 200_000
CLIENTS = 64
PGBENCH, REAPER = "pgbench", "reaper"
QUIET, BUSY = "holds, nothing lapsed", "holds, reaper at work"


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    reaped_beside: list[float] = []
    hot, spread = _expiring(lab, plan, 1), _expiring(lab, plan, POOLS)
    placing = alternate(
        plan,
        "reaper beside a sale",
        {QUIET: _placing(lab, plan), BUSY: _placing(lab, plan, LAPSED, reaped_beside)},
    )
    quiet, busy = placing.of(QUIET), placing.of(BUSY)
    beside = f" {median(reaped_beside):,.0f} ended per second meanwhile"
    return [
        hot,
        spread,
        figure_of(QUIET, CLIENTS, quiet),
        replace(figure_of(BUSY, CLIENTS, busy, versus=QUIET, base=quiet, must=0.7), note=beside),
    ]


def _expiring(lab: Lab, plan: Plan, pools: int) -> Figure:
    """Holds of one pool, which is the usual result of a rush, or spread over many."""
    where = "one pool" if pools == 1 else f"{pools} pools"
    rates = alternate(
        plan,
        f"reaper, {where}",
        {PGBENCH: _by_pgbench(lab, plan, pools), REAPER: _by_reaper(lab, plan, pools)},
    )
    reaped = rates.of(REAPER)
    return Figure(
        f"reaper, {LAPSED // 1000}k lapsed, {where}",
        1,
        median(reaped),
        versus=PGBENCH,
        base_rate=median(rates.of(PGBENCH)),
        must=5.0,
        spread=relative_spread(reaped),
    )


def _load(lab: Lab, plan: Plan, count: int, pools: int) -> None:
    lab.clear()
    if count:
        plan.log(f"loading {count:,} lapsed holds")
        load_holds(lab, count, ends_in_seconds=-HOUR_SECONDS, pools=pools)


def _by_pgbench(lab: Lab, plan: Plan, pools: int) -> Callable[[], float]:
    def measure() -> float:
        _load(lab, plan, LAPSED, pools)
        with lab.connected() as connection:
            connection.execute("DROP SEQUENCE IF EXISTS bench_lapsed")
            connection.execute("CREATE SEQUENCE bench_lapsed MINVALUE 0")
            connection.execute("GRANT USAGE ON SEQUENCE bench_lapsed TO holdfast_app")
        return run_pgbench(lab, expire_script(), CLIENTS, plan.seconds).rate

    return measure


def _by_reaper(lab: Lab, plan: Plan, pools: int) -> Callable[[], float]:
    def measure() -> float:
        _load(lab, plan, LAPSED, pools)
        with _reaper(lab) as reaper:
            reaper.run_once()
            started, expired = time.perf_counter(), 0
            while time.perf_counter() - started < plan.seconds:
                expired += reaper.run_once().processed_successfully
            return expired / (time.perf_counter() - started)

    return measure


@contextmanager
def _reaper(lab: Lab) -> Iterator[Reaper]:
    database = Database(lab.url)
    engine = Admission(PostgresStore(lab.url), Limits(deadline_seconds=60))
    database.open()
    engine.start()
    with closing(database):
        yield Reaper(PostgresHolds(database), engine)
        engine.stop()


def _placing(
    lab: Lab, plan: Plan, lapsed: int = 0, reaped: list[float] | None = None
) -> Callable[[], LoadRun]:
    """The server's own reaper expires lapsed holds while new ones are placed."""

    def measure() -> LoadRun:
        _load(lab, plan, lapsed, POOLS)
        with lab.server() as server:
            run_wrk(lab, server, place_script(lab, is_hot=False, seed=1), CLIENTS, WARM_UP_SECONDS)
            before = _expired(lab)
            script = place_script(lab, is_hot=False, seed=2)
            placed = run_wrk(lab, server, script, CLIENTS, plan.seconds)
            expired = _expired(lab)
            counted = place_script(lab, is_hot=False, seed=3)
            placed = with_counts(placed, lab, server, counted, CLIENTS)
        if reaped is not None:
            assert expired < lapsed, "the reaper finished before the measurement ended"
            reaped.append((expired - before) / plan.seconds)
        return placed

    return measure


def _expired(lab: Lab) -> int:
    with lab.connected() as connection:
        row = connection.execute("SELECT count(*) FROM hold WHERE status = 'expired'").fetchone()
    assert row is not None
    return int(row[0])
