"""The engine with its store, readers and duties, for every process that changes holds: servers and
workers."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Self

from holdfast.adapters.postgres.audit.attempts import PostgresAttempts
from holdfast.adapters.postgres.audit.integrity import PostgresBooks
from holdfast.adapters.postgres.audit.retention import PostgresAuditPartitions
from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.adapters.postgres.pruner import PostgresPruning
from holdfast.bootstrap.logs import log_at_once
from holdfast.bootstrap.privacy.addresses import addresses_of
from holdfast.bootstrap.relay import relay_of
from holdfast.bootstrap.settings import Settings
from holdfast.engine import Admission, Limits
from holdfast.ports.catalog import AvailabilityReader, CatalogStore
from holdfast.ports.engine import SubmitForCallback
from holdfast.ports.inventory.service import CALL_SECONDS_MAX
from holdfast.ports.privacy.addresses import Addresses
from holdfast.services.audit.integrity import BookAudit
from holdfast.services.audit.journal import Journal
from holdfast.services.audit.retention import AuditRetention
from holdfast.services.facts.relay import Relay
from holdfast.services.holds.reaper import Reaper
from holdfast.services.inventory.availability import RemoteAvailability
from holdfast.services.inventory.circuit import Circuit
from holdfast.services.inventory.remote_holds import RemoteHolds
from holdfast.services.pruner import Keeping, Pruner
from holdfast.services.waitlist import Promoter

if TYPE_CHECKING:  # slow to load, and only for a remote inventory
    from holdfast.adapters.inventory.client import HttpInventory
    from holdfast.bootstrap.inventory.reconciliation import Reconciliation

SECONDS_PER_HOUR = 3_600
SECONDS_PER_DAY = 86_400


class EngineRoom:
    """Nothing connects before `start`, and nothing raises if the database is down."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.url = url = settings.required_database_url
        self.database = Database(url)
        self.addresses = addresses_of(settings)
        self.hashes = self.addresses.hashes
        self.journal = Journal(PostgresAttempts(self.database, self.hashes), log_at_once)
        store = PostgresStore(url, self.addresses)
        self.admission = Admission(store, _limits(settings), [self.journal])
        self.inventory = _inventory(settings)
        self.remote = None
        if self.inventory is not None:
            remote = (self.admission, self.inventory, Circuit(), self.journal.refused)
            self.remote = RemoteHolds(*remote)
        # An answer takes no longer: a remote hold passes through the engine twice.
        self.deadline_seconds = settings.holdfast_deadline_seconds
        if self.remote is not None:
            self.deadline_seconds += self.deadline_seconds + ceil(CALL_SECONDS_MAX)
        # What people and other services submit their commands to.
        self.submit: SubmitForCallback = self.remote or self.admission
        self.holds = PostgresHolds(self.database, self.addresses)
        self.reaper = Reaper(self.holds, self.admission)
        self.promoter = Promoter(self.holds, self.admission)
        self.pruner = Pruner(PostgresPruning(self.database), _keeping(settings))
        partitions = PostgresAuditPartitions(self.database)
        self.retention = AuditRetention(partitions, settings.holdfast_audit_kept_days)
        self.book_audit = BookAudit(PostgresBooks(url), settings.holdfast_grace_seconds)
        self.reconciliation = _reconciliation(settings, self.admission, self.addresses)

    @cached_property
    def relay(self) -> Relay:
        """Without a broker, facts stay in the outbox and can be polled."""
        return relay_of(self.settings)

    def start(self) -> None:
        self.database.open()
        if self.reconciliation is not None:
            self.reconciliation.start()
        self.admission.start()

    def stop(self) -> None:
        """Stop accepting commands, answer the queued ones, then close the database connections."""
        if self.remote is not None:
            self.remote.stop()
        self.admission.stop()
        if self.reconciliation is not None:
            self.reconciliation.stop()
        if self.inventory is not None:
            self.inventory.close()
        while self.journal.run_once():
            pass
        self.database.close()

    def availability_of(self, catalog: CatalogStore) -> AvailabilityReader:
        if self.inventory is None:
            return catalog
        return RemoteAvailability(catalog, self.inventory, Circuit())

    @contextmanager
    def running(self) -> Iterator[Self]:
        self.start()
        try:
            yield self
        finally:
            self.stop()


def _inventory(settings: Settings) -> "HttpInventory | None":
    if settings.holdfast_inventory_url is None:
        return None
    from holdfast.bootstrap.inventory.client import inventory_of  # noqa: PLC0415

    return inventory_of(settings)


def _reconciliation(
    settings: Settings, admission: Admission, addresses: Addresses
) -> "Reconciliation | None":
    if settings.holdfast_inventory_url is None:
        return None
    from holdfast.bootstrap.inventory.reconciliation import Reconciliation  # noqa: PLC0415

    return Reconciliation(settings, admission, addresses)


def _limits(settings: Settings) -> Limits:
    return Limits(
        queue_max=settings.holdfast_queue_max,
        group_max=settings.holdfast_group_max,
        deadline_seconds=settings.holdfast_deadline_seconds,
        drain_seconds=settings.holdfast_drain_seconds,
    )


def _keeping(settings: Settings) -> Keeping:
    return Keeping(
        answers_seconds=settings.holdfast_answers_kept_hours * SECONDS_PER_HOUR,
        facts_seconds=settings.holdfast_facts_kept_days * SECONDS_PER_DAY,
        receipts_seconds=settings.holdfast_receipts_kept_days * SECONDS_PER_DAY,
    )
