"""Random faults under load: `make faults SECONDS=300 SEED=7`.

The same seed gives the same faults in the same order. Everything is checked as in the short tests,
now and then and at the end."""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import psycopg

from holdfast.adapters.embedded import EmbeddedPostgres
from holdfast.bootstrap.database import migrate
from holdfast.bootstrap.logs import configure_logs
from holdfast.bootstrap.settings import Settings
from holdfast.ports.engine import Answer
from tests.faults.arena import UNAVAILABLE, Arena
from tests.faults.injection import injected, install
from tests.faults.proxy import Fault, Proxy
from tests.faults.resale import Resale

CHECK_EVERY = 25
TRADES = 5  # holds of each burst that are paid for, and then cancelled


class Storm:
    def __init__(self, seed: int, directory: Path) -> None:
        self.dice = random.Random(seed)
        self.postgres = EmbeddedPostgres(directory / "postgres")
        self.postgres.start()
        migrate(Settings(database_url=self.postgres.url), report=lambda _: None)
        install(self.postgres.url)
        self.proxy = Proxy(self.postgres.url)
        self.arena = Arena(self.postgres.url, self.proxy.url)
        self.resale = Resale(self.arena)
        self.started = time.monotonic()
        self.answers: Counter[str] = Counter()

    def report(self, text: str) -> None:
        sys.stdout.write(f"[{time.monotonic() - self.started:7.2f} s] {text}\n")
        sys.stdout.flush()

    def run(self, seconds: float) -> None:
        faults: list[Callable[[list[Future[Answer]]], None]] = [
            self.fault_at_commit,
            self.cut_everything,
            self.terminate_backends,
            self.raise_an_error,
            self.restart,
            self.kill,
            self.lock_the_pool,
            self.lock_some_seats,
        ]
        number = 0
        while time.monotonic() - self.started < seconds:
            number += 1
            first = len(self.arena.commands)
            trades = self.arena.next_steps()
            futures = self.arena.burst(self.dice.randint(1, 60))
            self.dice.choice(faults)(futures)
            futures += self.arena.burst(self.dice.randint(1, 20))
            answers = self.arena.answered(futures, first)
            assert set(answers) <= {"placed", UNAVAILABLE}, answers
            self.answers += answers
            self.arena.take_steps(trades)
            self.arena.begin_trades(range(first, first + TRADES))
            self.resale.begin_trades()
            if number % CHECK_EVERY == 0:
                self.check()
        self.check()

    def check(self) -> None:
        before = len(self.arena.commands)
        self.arena.finish_trades()
        self.resale.assert_one_party_for_each_order()
        self.arena.assert_nothing_lost_and_nothing_twice()
        orders, promoted = len(self.arena.trades), len(self.resale.parties)
        self.report(
            f"checked: {before} holds, {orders} orders sold and cancelled, {promoted} parties"
            " promoted, all sound"
        )

    def fault_at_commit(self, _futures: list[Future[Answer]]) -> None:
        fault = self.dice.choice(list(Fault))
        self.report(f"connection: {fault.name.lower()}")
        self.proxy.fault_next(fault)

    def cut_everything(self, _futures: list[Future[Answer]]) -> None:
        for _ in range(self.dice.randint(1, 5)):
            time.sleep(self.dice.uniform(0, 0.02))
            self.proxy.cut_all()
        self.report("cut every connection")

    def terminate_backends(self, _futures: list[Future[Answer]]) -> None:
        self.report("terminated the engine's backends")
        with psycopg.connect(self.postgres.url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'holdfast engine'"
            )

    def raise_an_error(self, futures: list[Future[Answer]]) -> None:
        sqlstate = self.dice.choice(["40001", "40P01", "55P03", "57014", "53100", "XX000"])
        times = self.dice.randint(1, 4)
        self.report(f"PostgreSQL raises {sqlstate}, {times} time(s)")
        with injected(self.postgres.url, sqlstate, times):
            for future in futures:
                future.result(60)

    def restart(self, _futures: list[Future[Answer]]) -> None:
        self.report("restarted PostgreSQL")
        self.postgres.stop()
        self.postgres.start()

    def kill(self, _futures: list[Future[Answer]]) -> None:
        self.report("killed PostgreSQL with -9")
        self.postgres.kill()
        self.postgres.start()

    def lock_the_pool(self, _futures: list[Future[Answer]]) -> None:
        seconds = self.dice.uniform(0.1, 2.0)
        venue = self.dice.choice([self.arena.venue, self.resale.venue])
        name = "the pool" if venue is self.arena.venue else "the sold-out pool"
        self.report(f"a stranger locked {name} for {seconds:.1f} s")
        with self.arena.world.locked_elsewhere(venue, venue.pools["floor"]):
            time.sleep(seconds)

    def lock_some_seats(self, _futures: list[Future[Answer]]) -> None:
        seconds = self.dice.uniform(0.1, 2.0)
        names = self.dice.sample(list(self.arena.venue.places), 200)
        self.report(f"a stranger locked {len(names)} seats for {seconds:.1f} s")
        with self.arena.world.seats_locked_elsewhere(self.arena.venue, *names):
            time.sleep(seconds)

    def calm(self) -> None:
        self.proxy.close()
        self.arena.close()
        self.postgres.stop()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args()
    configure_logs(Settings(holdfast_log_level="error"))
    os.environ["PGOPTIONS"] = "-c holdfast.owner=on"  # to read the rows as their owner
    replay = f"make faults SEED={options.seed} SECONDS={options.seconds:g}"
    sys.stdout.write(f"Replay this storm with: {replay}\n")
    with tempfile.TemporaryDirectory(prefix="holdfast-storm-") as directory:
        storm = Storm(options.seed, Path(directory))
        try:
            storm.run(options.seconds)
        except BaseException:
            storm.report(f"FAILED; replay with: {replay}")
            raise
        finally:
            storm.calm()
    storm.report(f"survived; answers: {dict(storm.answers)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
