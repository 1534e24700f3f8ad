"""A waitlist of 100,000 parties: the rate of joining it, and of promotions from it."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

from bench.lab import ORGANIZATION_ID, POOL_TOTAL, SESSION_ID, Lab, pool_id
from bench.loading import HOUR_SECONDS, load_holds, load_waiting
from bench.placing import by_pgbench, by_server, figure_of
from bench.results import Figure, median, relative_spread
from bench.rounds import Plan, alternate
from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.engine import Admission, Limits
from holdfast.services.waitlist import Promoter

WAITING = 100_000
CLIENTS = 64
QUEUES = 400
NOBODY, MANY = f"hot pool, {WAITING:,} hold", f"hot pool, {WAITING:,} wait"
IN_QUEUES = f"{MANY} in {QUEUES} queues"
PGBENCH, PROMOTED = "pgbench", "promotions"


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    joining = alternate(
        plan,
        "joining a waitlist",
        {
            NOBODY: by_server(
                lab, plan, is_hot=True, clients=CLIENTS, prepare=lambda: _held(lab, plan)
            ),
            MANY: by_server(
                lab, plan, is_hot=True, clients=CLIENTS, prepare=lambda: _waited_for(lab, plan)
            ),
            IN_QUEUES: by_server(
                lab,
                plan,
                is_hot=True,
                clients=CLIENTS,
                prepare=lambda: _waited_for(lab, plan, QUEUES),
            ),
        },
    )
    moving = alternate(
        plan,
        "promotions",
        {
            PGBENCH: _by_pgbench(lab, plan),
            PROMOTED: _promoting(lab, plan),
        },
    )
    lab.clear()
    lab.set_waitlist(is_on=False)
    nobody, many = joining.of(NOBODY), joining.of(MANY)
    promoted = moving.of(PROMOTED)
    return [
        figure_of(NOBODY, CLIENTS, nobody),
        figure_of(MANY, CLIENTS, many, versus=NOBODY, base=nobody, must=0.9),
        figure_of(IN_QUEUES, CLIENTS, joining.of(IN_QUEUES), versus=NOBODY, base=nobody, must=0.9),
        Figure(
            f"promotions, {WAITING:,} wait",
            1,
            median(promoted),
            versus="pgbench, holds",
            base_rate=median(moving.of(PGBENCH)),
            spread=relative_spread(promoted),
        ),
    ]


def _held(lab: Lab, plan: Plan) -> None:
    """Fill the tables as much, but without a waitlist."""
    lab.clear()
    lab.set_waitlist(is_on=True)
    plan.log(f"loading {WAITING:,} active holds")
    load_holds(lab, WAITING, ends_in_seconds=HOUR_SECONDS)


def _waited_for(lab: Lab, plan: Plan, queues: int = 1) -> None:
    lab.clear()
    lab.set_waitlist(is_on=True)
    plan.log(f"loading {WAITING:,} waiting parties")
    load_waiting(lab, WAITING, queues)


def _by_pgbench(lab: Lab, plan: Plan) -> Callable[[], float]:
    """Places holds, one per transaction: a promotion writes about as much."""
    measure = by_pgbench(lab, plan, is_hot=True, clients=CLIENTS)
    return lambda: measure().rate


def _promoting(lab: Lab, plan: Plan) -> Callable[[], float]:
    def measure() -> float:
        _waited_for(lab, plan)
        with lab.connected() as connection:
            connection.execute("UPDATE pool SET total = %s WHERE id = %s", (POOL_TOTAL, pool_id(1)))
            connection.execute(
                "UPDATE waitlist SET is_settled = false"
                " WHERE organization_id = %s AND session_id = %s",
                (ORGANIZATION_ID, SESSION_ID),
            )
        with _promoter(lab) as promoter:
            started = time.perf_counter()
            while time.perf_counter() - started < plan.seconds:
                promoter.run_once()
            seconds = time.perf_counter() - started
        promoted = WAITING - _count_waiting(lab)
        assert promoted < WAITING, "the waitlist was too short to measure"
        return promoted / seconds

    return measure


@contextmanager
def _promoter(lab: Lab) -> Iterator[Promoter]:
    database = Database(lab.url)
    engine = Admission(PostgresStore(lab.url), Limits(deadline_seconds=60))
    database.open()
    engine.start()
    with closing(database):
        yield Promoter(PostgresHolds(database), engine)
        engine.stop()


def _count_waiting(lab: Lab) -> int:
    with lab.connected() as connection:
        row = connection.execute("SELECT count(*) FROM waiting_place").fetchone()
    assert row is not None
    return int(row[0])
