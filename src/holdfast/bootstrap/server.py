"""One server process: the engine, readers and duties."""

import secrets

from holdfast.adapters.payments import DemoPayments, TrustingPayments
from holdfast.adapters.postgres.access.key_watch import KeyWatch
from holdfast.adapters.postgres.access.keys import PostgresKeys, PostgresKeyStore
from holdfast.adapters.postgres.access.settings import PostgresOrganizationSettings
from holdfast.adapters.postgres.audit.reader import PostgresAudit
from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.connections.health import DatabaseDependency
from holdfast.adapters.postgres.facts.outbox import PostgresFactLog
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.holds.statistics import PostgresStatistics
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.adapters.postgres.seats.reader import PostgresSeats
from holdfast.bootstrap.consumers import ConsumerThread, consumer_threads
from holdfast.bootstrap.duties import BackgroundThread, DutyThread, planned_duties
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings
from holdfast.engine import Admission
from holdfast.ports.health import Dependency
from holdfast.services.access.authentication import Authenticator
from holdfast.services.container import ApiContainer


class EngineDependency:
    """Healthy while the lanes of this process work."""

    name = "engine"
    is_required = True

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def problem(self) -> str | None:
        return None if self._admission.is_alive() else "has stopped"


class Server:
    """Nothing connects before `start`, and nothing raises if the database is down: the server
    answers 503 and recovers by itself."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._room = EngineRoom(settings)
        # Anybody can send unknown keys: no other query may wait for their look-up.
        self._key_database = Database(self._room.url, connections_max=1)
        authenticator = Authenticator(PostgresKeys(self._key_database))
        self.container = _container(settings, self._room, authenticator)
        watch = KeyWatch(self._room.url, authenticator.forget, authenticator.trust)
        self._threads: list[BackgroundThread] = [
            BackgroundThread("key-watch", watch.run),
            *(DutyThread(duty) for duty in planned_duties(self._room)),
            *_consumers(settings, self._room),
        ]

    def dependencies(self) -> list[Dependency]:
        found: list[Dependency] = [
            DatabaseDependency(self._room.database),
            EngineDependency(self._room.admission),
        ]
        if self.settings.redis_url is not None:
            from holdfast.bootstrap.brokers import redis_dependency  # noqa: PLC0415

            found.append(redis_dependency(self.settings))
        return found

    def start(self) -> None:
        self._room.start()
        self._key_database.open()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop accepting commands, answer the queued ones, then close the database connections."""
        for thread in self._threads:
            thread.stop(timeout_seconds=0)
        self._room.stop()
        self._key_database.close()


def _consumers(settings: Settings, room: EngineRoom) -> list[ConsumerThread]:
    if settings.holdfast_duties == "none":
        return []
    return consumer_threads(settings, room.admission, room.database)


def _container(settings: Settings, room: EngineRoom, authenticator: Authenticator) -> ApiContainer:
    # `holdfast serve` sets the secret for all its processes; without it, only this server accepts
    # its demo payments.
    demo_secret = settings.holdfast_secret_key or secrets.token_urlsafe(48)
    till = DemoPayments(demo_secret) if settings.holdfast_payments == "demo" else None
    return ApiContainer(
        submit=room.admission,
        holds=room.holds,
        catalog=PostgresCatalog(room.database),
        seats=PostgresSeats(room.database),
        statistics=PostgresStatistics(room.database),
        orders=PostgresOrders(room.database),
        facts=PostgresFactLog(room.database),
        audit=PostgresAudit(room.database, room.hashes),
        attempts=room.journal,
        payments=till or TrustingPayments(),
        authenticator=authenticator,
        keys=PostgresKeyStore(room.database),
        organizations=PostgresOrganizationSettings(room.database),
        deadline_seconds=settings.holdfast_deadline_seconds,
        demo_till=till,
    )
