"""One server process: the engine, readers and duties."""

import secrets
from collections.abc import Callable, Iterable, Iterator
from uuid import UUID

import structlog

from holdfast.adapters.payments import DemoPayments, TrustingPayments
from holdfast.adapters.postgres.access.key_watch import KEYS, ORIGINS, TOKENS, KeyWatch
from holdfast.adapters.postgres.access.keys import PostgresKeys, PostgresKeyStore
from holdfast.adapters.postgres.access.members import PostgresMembers
from holdfast.adapters.postgres.access.rates import PostgresRateLimits
from holdfast.adapters.postgres.access.sessions import PostgresMemberSessions
from holdfast.adapters.postgres.access.settings import PostgresOrganizationSettings
from holdfast.adapters.postgres.access.tokens import PostgresTokenDirectory, PostgresTokenStore
from holdfast.adapters.postgres.audit.exports import PostgresExportLog
from holdfast.adapters.postgres.audit.reader import PostgresAudit
from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.connections.health import DatabaseDependency
from holdfast.adapters.postgres.facts.outbox import PostgresFactLog
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.holds.statistics import PostgresStatistics
from holdfast.adapters.postgres.inventory.reader import PostgresReservations
from holdfast.adapters.postgres.mails.requests import PostgresMailRequests
from holdfast.adapters.postgres.mails.templates import PostgresMailTemplates
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.adapters.postgres.privacy.forgetting import PostgresForgetting
from holdfast.adapters.postgres.seats.reader import PostgresSeats
from holdfast.bootstrap.consumers import consumer_threads, inventory_consumers
from holdfast.bootstrap.duties import (
    BackgroundThread,
    Duty,
    DutyThread,
    inventory_duties,
    planned_duties,
)
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.passwords import passwords_of
from holdfast.bootstrap.settings import Settings
from holdfast.engine import Admission
from holdfast.ports.health import Dependency
from holdfast.services.access.authentication import Authenticator
from holdfast.services.access.origins import AllowedOrigins
from holdfast.services.access.rates.book import RateBook
from holdfast.services.access.rates.limiter import RateLimiter
from holdfast.services.access.rates.local import LocalRates
from holdfast.services.access.rates.subjects import Rates, Subjects
from holdfast.services.access.token_box import TokenBox
from holdfast.services.access.tokens import HolderAccess, token_authenticator
from holdfast.services.container import ApiContainer

_log = structlog.get_logger("holdfast.rates")
_privacy_log = structlog.get_logger("holdfast.privacy")


ThreadsOf = Callable[[Settings, EngineRoom], Iterable[BackgroundThread]]


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

    def __init__(self, settings: Settings, threads: ThreadsOf | None = None) -> None:
        """`threads` are the duties and consumers of the service; by default, the Hold Service's."""
        self.settings = settings
        self._room = EngineRoom(settings)
        if not settings.installation_secrets:
            _privacy_log.warning("addresses.not_encrypted")
        # Anybody can send unknown keys: no other query may wait for their look-up.
        self._key_database = Database(self._room.url, connections_max=1)
        authenticator = Authenticator(PostgresKeys(self._key_database))
        rates = _rates(settings, self._room)
        self._rate_book = rates.book
        # Nor may the look-up of a buyer's token wait for those.
        self._token_database = Database(self._room.url, connections_max=1)
        holders = _holders(settings, self._room, self._token_database)
        self.container = _container(settings, self._room, authenticator, holders, rates)
        self._threads: list[BackgroundThread] = [
            BackgroundThread("key-watch", _watch(self._room.url, self.container).run),
            BackgroundThread("origins", holders.origins.run),
            DutyThread(Duty("rates", self._rate_book.refresh)),
            *(threads or hold_service_threads)(settings, self._room),
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
        self._rate_book.refresh()  # the first request may be limited
        self._token_database.open()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop accepting commands, answer the queued ones, then close the database connections."""
        for thread in self._threads:
            thread.stop(timeout_seconds=0)
        self._room.stop()
        self._key_database.close()
        self._token_database.close()


def hold_service_threads(settings: Settings, room: EngineRoom) -> Iterator[BackgroundThread]:
    yield from map(DutyThread, planned_duties(room))
    if settings.holdfast_duties != "none":
        yield from consumer_threads(settings, room.submit, room.database)


def inventory_threads(settings: Settings, room: EngineRoom) -> Iterator[BackgroundThread]:
    yield from map(DutyThread, inventory_duties(room))
    if settings.holdfast_duties != "none":
        yield from inventory_consumers(settings, room)


def _secret(settings: Settings) -> str:
    """`holdfast serve` sets the secret for all its processes. Without it, only this process accepts
    its demo payments and knows its rate limits."""
    return settings.holdfast_secret_key or secrets.token_urlsafe(48)


def _rates(settings: Settings, room: EngineRoom) -> Rates:
    shared = None
    if settings.redis_url is not None:
        from holdfast.bootstrap.brokers import shared_rates  # noqa: PLC0415

        shared = shared_rates(settings)
        if not settings.installation_secrets:
            _log.warning("rates.secret_is_temporary")
    return Rates(
        RateBook(PostgresRateLimits(room.database)),
        RateLimiter(LocalRates(), shared),
        Subjects(_secret(settings)),
    )


def _holders(settings: Settings, room: EngineRoom, database: Database) -> HolderAccess:
    box, directory = TokenBox(settings.installation_secrets), PostgresTokenDirectory(database)
    return HolderAccess(
        box,
        token_authenticator(box, directory),
        PostgresTokenStore(room.database),
        AllowedOrigins(directory),
    )


def _watch(url: str, container: ApiContainer) -> KeyWatch:
    keys, tokens = container.authenticator, container.holders.authenticator

    def key_changed(key_id: UUID | None) -> None:
        keys.forget(key_id)
        tokens.forget(key_id)

    def is_alive(seconds: float) -> None:
        keys.trust(seconds)
        tokens.trust(seconds)

    listeners = {
        KEYS: key_changed,
        TOKENS: tokens.forget_organization,
        ORIGINS: container.holders.origins.change,
    }
    return KeyWatch(url, listeners, is_alive)


def _container(
    settings: Settings,
    room: EngineRoom,
    authenticator: Authenticator,
    holders: HolderAccess,
    rates: Rates,
) -> ApiContainer:
    catalog = PostgresCatalog(room.database)
    till = DemoPayments(_secret(settings)) if settings.holdfast_payments == "demo" else None
    return ApiContainer(
        submit=room.submit,
        holds=room.holds,
        catalog=catalog,
        availability=room.availability_of(catalog),
        seats=PostgresSeats(room.database),
        statistics=PostgresStatistics(room.database),
        orders=PostgresOrders(room.database, room.addresses),
        reservations=PostgresReservations(room.database, room.addresses),
        facts=PostgresFactLog(room.database),
        audit=PostgresAudit(room.database, room.addresses.hashes),
        attempts=room.journal,
        exports=PostgresExportLog(room.database),
        payments=till or TrustingPayments(),
        authenticator=authenticator,
        keys=PostgresKeyStore(room.database),
        holders=holders,
        organizations=PostgresOrganizationSettings(room.database),
        mail_templates=PostgresMailTemplates(room.database),
        mail_requests=PostgresMailRequests(room.database),
        rates=rates,
        forgetting=PostgresForgetting(room.database, room.addresses),
        members=PostgresMembers(room.database),
        member_sessions=PostgresMemberSessions(room.database),
        passwords=passwords_of(settings),
        deadline_seconds=room.deadline_seconds,
        demo_till=till,
    )
