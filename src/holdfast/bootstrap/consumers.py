"""The consumers: orders confirmed elsewhere, and notices to buyers. They run on threads of a
server, in their own process, or as a task of workers."""

import contextlib
import threading
from collections.abc import Callable
from email.headerregistry import Address
from functools import partial

import structlog

from holdfast.adapters.mail.console import ConsoleNotifier
from holdfast.adapters.mail.smtp import SmtpNotifier
from holdfast.adapters.postgres.access.settings import PostgresOrganizationSettings
from holdfast.adapters.postgres.audit.attempts import PostgresAttempts
from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.facts.inbox import PostgresInbox
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.adapters.postgres.inventory.reader import PostgresReservations
from holdfast.adapters.postgres.mails.templates import PostgresMailTemplates
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.bootstrap.duties import (
    BackgroundThread,
    BeatTask,
    DutyThread,
    TaskQueue,
    journal_duty,
)
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.privacy.addresses import addresses_of
from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.domain.immutable import immutable
from holdfast.ports.engine import Submit
from holdfast.ports.facts.deliveries import (
    ENDINGS,
    INVENTORY,
    NOTIFICATIONS,
    ORDERS,
    Consumer,
    DeadLetters,
    Subscription,
)
from holdfast.ports.facts.log import Handled, Handler, Message
from holdfast.ports.facts.notices import Notifier
from holdfast.services.facts.notices import NoticeSender
from holdfast.services.inventory.hold_follower import HoldFollower
from holdfast.services.orders.confirmations import OrderTaker

AFTER_ERROR_SECONDS = 1.0
# A consumer may be sending a mail when it is stopped.
STOP_SECONDS_MAX = 10.0
BEAT_SECONDS = 5
# For each queue: a mail server that does not answer delays the other mails, but no order.
TURN_SECONDS = 5.0

log = structlog.get_logger()


class ConsumerThread(BackgroundThread):
    """One consumer on one thread."""

    def __init__(self, name: str, make: Callable[[], Consumer], handler: Handler) -> None:
        super().__init__(name, self._run)
        self._name = name
        self._make = make
        self._handler = handler

    def _run(self, stopped: threading.Event) -> None:
        """A consumer handles lost connections itself. Any other error is a bug, and must not stop
        it for good."""
        while not stopped.is_set():
            try:
                self._make().run(self._handler, stopped)
            except Exception:
                with contextlib.suppress(Exception):
                    log.exception("consumer_failed", consumer=self._name)
                stopped.wait(AFTER_ERROR_SECONDS)


@immutable
class _Post:
    """A queue with the handler of its messages."""

    name: str
    subscription: Subscription
    handler: Handler


def consumer_threads(
    settings: Settings, submit: Submit, database: Database
) -> list[ConsumerThread]:
    """Empty without a broker."""
    if settings.broker is None:
        return []
    from holdfast.bootstrap.brokers import consumer_of  # noqa: PLC0415

    return [
        ConsumerThread(post.name, partial(consumer_of, settings, post.subscription), post.handler)
        for post in _posts(settings, submit, database)
    ]


def _consume_waiting(room: EngineRoom) -> None:
    """Handle the messages that wait now, orders first."""
    from holdfast.bootstrap.brokers import drain  # noqa: PLC0415

    for post in _posts(room.settings, room.submit, room.database):
        drain(room.settings, post.subscription, post.handler, TURN_SECONDS)


CONSUMPTION = BeatTask(
    task="holdfast.consume",
    complete=_consume_waiting,
    beat_seconds=lambda _: BEAT_SECONDS,
    queue=TaskQueue.MESSAGES,
)


def _posts(settings: Settings, submit: Submit, database: Database) -> list[_Post]:
    addresses = addresses_of(settings)
    holds, orders = PostgresHolds(database, addresses), PostgresOrders(database, addresses)
    attempts = PostgresAttempts(database, addresses.hashes)
    taker = OrderTaker(submit, holds, orders, attempts)
    notifier = _notifier(settings)
    tell: Handler = _discard
    if notifier is not None:
        catalog = PostgresCatalog(database)
        organizations = PostgresOrganizationSettings(database)
        tell = NoticeSender(
            PostgresInbox(database),
            notifier,
            holds,
            orders,
            catalog,
            organizations,
            PostgresMailTemplates(database),
        ).handle
    return [
        _Post("orders", ORDERS, taker.handle),
        _Post("notices", NOTIFICATIONS, tell),
        _Post("endings", ENDINGS, tell),
    ]


def inventory_consumers(settings: Settings, room: EngineRoom) -> list[ConsumerThread]:
    """Of an Inventory Service. Without a broker, it hears of holds by calls alone."""
    if settings.broker is None:
        return []
    from holdfast.bootstrap.brokers import consumer_of  # noqa: PLC0415

    follower = HoldFollower(room.admission, PostgresReservations(room.database, room.addresses))
    make = partial(consumer_of, settings, INVENTORY)
    return [ConsumerThread("inventory", make, follower.handle)]


def dead_letters(settings: Settings) -> DeadLetters:
    """The dead letters of the configured broker."""
    if settings.broker is None:
        raise _no_broker()
    from holdfast.bootstrap.brokers import dead_letters_of  # noqa: PLC0415

    return dead_letters_of(settings)


def run_consumers(settings: Settings, stopped: threading.Event) -> None:
    """Run the consumers with their own engine until they are stopped."""
    room = EngineRoom(settings)
    threads = consumer_threads(settings, room.submit, room.database)
    if not threads:
        raise _no_broker()
    journal = DutyThread(journal_duty(room.journal))
    room.start()
    journal.start()
    for thread in threads:
        thread.start()
    log.info("consumers.started", broker=settings.broker, notifier=settings.holdfast_notifier)
    stopped.wait()
    for thread in threads:
        thread.stop(STOP_SECONDS_MAX)
    journal.stop(timeout_seconds=0)
    room.stop()


def _no_broker() -> SettingsError:
    return SettingsError("AMQP_URL or REDIS_URL: one must be set, to have a broker to read from")


def _discard(_: Message) -> Handled:
    """Discard notices if none are wanted: the queue exists anyway and must be emptied."""
    return Handled.DONE


def _notifier(settings: Settings) -> Notifier | None:
    match settings.holdfast_notifier:
        case "console":
            return ConsoleNotifier()
        case "smtp":
            assert settings.holdfast_smtp_url is not None
            sender = Address(addr_spec=settings.holdfast_mail_from)
            return SmtpNotifier(settings.holdfast_smtp_url, sender)
    return None
