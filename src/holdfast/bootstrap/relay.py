"""The relay from the outbox to the configured broker."""

from contextlib import closing
from threading import Event

import structlog

from holdfast.adapters.postgres.facts.outbox import PostgresOutbox
from holdfast.bootstrap.privacy.addresses import addresses_of
from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.ports.facts.log import Publisher, RelayCursor, RelayLag
from holdfast.services.facts.relay import Relay

log = structlog.get_logger()


def relay_of(settings: Settings) -> Relay:
    """A relay for one thread, which connects when it is first used."""
    return Relay(_outbox(settings), _publisher(settings), settings.holdfast_secret_key)


def run_relay(settings: Settings, stopped: Event) -> None:
    """Run in the foreground until stopped."""
    with closing(_publisher(settings)) as publisher, closing(_outbox(settings)) as outbox:
        relay = Relay(outbox, publisher, settings.holdfast_secret_key)
        log.info("relay.started", broker=settings.broker)
        while not stopped.wait(relay.tend()):
            pass


def relay_status(settings: Settings) -> tuple[RelayLag, tuple[RelayCursor, ...]]:
    """May raise StoreError."""
    with closing(_outbox(settings)) as outbox:
        return outbox.lag(), outbox.cursors()


def _outbox(settings: Settings) -> PostgresOutbox:
    return PostgresOutbox(settings.required_database_url, addresses_of(settings))


def _publisher(settings: Settings) -> Publisher:
    if settings.broker is None:
        raise SettingsError("AMQP_URL or REDIS_URL: one must be set, to have a broker to relay to")
    from holdfast.bootstrap.brokers import publisher_of  # noqa: PLC0415

    return publisher_of(settings)
