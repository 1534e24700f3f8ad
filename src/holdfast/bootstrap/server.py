"""One server process: the engine with its store, the readers, the duties, all joined."""

from collections.abc import Sequence

from holdfast.adapters.postgres.attempts import PostgresAttempts
from holdfast.adapters.postgres.catalogue import PostgresCatalogue
from holdfast.adapters.postgres.health import DatabaseDependency
from holdfast.adapters.postgres.keys import PostgresKeys
from holdfast.adapters.postgres.reading import Database, PostgresHolds
from holdfast.adapters.postgres.seat_reading import PostgresSeats
from holdfast.adapters.postgres.store import PostgresStore
from holdfast.adapters.redis.health import RedisDependency
from holdfast.bootstrap.duties import Duty, DutyThread
from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.engine import Admission, Limits
from holdfast.ports.health import Dependency
from holdfast.services.container import ApiContainer
from holdfast.services.expiring import Reaper
from holdfast.services.journal import Journal
from holdfast.services.pruning import FULL_RUN, Pruner

PRUNER_SECONDS = 60.0
JOURNAL_SECONDS = 1.0
SECONDS_PER_HOUR = 3600


class EngineDependency:
    """The lanes of this process are at work."""

    name = "engine"
    is_required = True

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def problem(self) -> str | None:
        return None if self._admission.is_alive() else "has stopped"


class Server:
    """Nothing here touches the network before `start`, nor raises when the database is away: a
    server without a database answers 503 and recovers by itself."""

    def __init__(self, settings: Settings) -> None:
        if settings.database_url is None:
            raise SettingsError("DATABASE_URL: must be set")
        self._settings = settings
        self._database = Database(settings.database_url)
        self._journal = Journal(PostgresAttempts(self._database))
        self._admission = Admission(
            PostgresStore(settings.database_url), _limits(settings), self._journal
        )
        holds = PostgresHolds(self._database)
        self.container = ApiContainer(
            submit=self._admission,
            holds=holds,
            catalogue=PostgresCatalogue(self._database),
            seats=PostgresSeats(self._database),
            keys=PostgresKeys(self._database),
            deadline_seconds=settings.holdfast_deadline_seconds,
        )
        self._duties = [DutyThread(duty) for duty in self._planned_duties(holds)]

    def _planned_duties(self, holds: PostgresHolds) -> Sequence[Duty]:
        settings = self._settings
        reaper = Reaper(holds, self._admission)
        pruner = Pruner(holds, settings.holdfast_answers_kept_hours * SECONDS_PER_HOUR)
        return (
            Duty("reaper", lambda: reaper.tend(settings.holdfast_reaper_seconds)),
            Duty("pruner", lambda: 0.0 if pruner.run_once() >= FULL_RUN else PRUNER_SECONDS),
            Duty("journal", lambda: 0.0 if self._journal.run_once() else JOURNAL_SECONDS),
        )

    def dependencies(self) -> list[Dependency]:
        found: list[Dependency] = [
            DatabaseDependency(self._database),
            EngineDependency(self._admission),
        ]
        if self._settings.redis_url is not None:
            found.append(RedisDependency(self._settings.redis_url))
        return found

    def start(self) -> None:
        self._database.open()
        self._admission.start()
        for duty in self._duties:
            duty.start()

    def stop(self) -> None:
        """Stop taking in, answer what is queued, then let go of the database."""
        for duty in self._duties:
            duty.stop(timeout_seconds=0)
        self._admission.stop()
        while self._journal.run_once():
            pass
        self._database.close()


class WatchedDatabase:
    """The database as a process without an engine sees it: there, or not."""

    def __init__(self, settings: Settings) -> None:
        if settings.database_url is None:
            raise SettingsError("DATABASE_URL: must be set")
        self._database = Database(settings.database_url)
        self.dependency: Dependency = DatabaseDependency(self._database)

    def __enter__(self) -> "WatchedDatabase":
        self._database.open()
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()


def _limits(settings: Settings) -> Limits:
    return Limits(
        queue_max=settings.holdfast_queue_max,
        group_max=settings.holdfast_group_max,
        deadline_seconds=settings.holdfast_deadline_seconds,
        drain_seconds=settings.holdfast_drain_seconds,
    )
