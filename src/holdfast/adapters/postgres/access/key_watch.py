"""Learns of changed API keys, revoked holder tokens and changed origins as soon as they are
committed, by LISTEN."""

import threading
from collections.abc import Callable, Mapping
from uuid import UUID

import psycopg
import structlog
from psycopg.sql import SQL, Identifier

from holdfast.adapters.postgres.connections.connection import (
    CONNECTION_OPTIONS,
    Watchdog,
)

KEYS, TOKENS, ORIGINS = "holdfast_keys", "holdfast_tokens", "holdfast_origins"
# After this time without a notification, ask whether the server still answers.
QUIET_SECONDS = 1.0
# The longest that the server may take to answer.
ANSWER_SECONDS_MAX = 1.0
# A process that hears nothing from PostgreSQL for this long no longer trusts what it remembers.
TRUSTED_SECONDS = 2 * (QUIET_SECONDS + ANSWER_SECONDS_MAX)
_RECONNECT_SECONDS = 0.5

_log = structlog.get_logger("holdfast.keys")


class KeyWatch:
    """Runs on a thread of its own. `on_change` has a listener for each channel, which gets the id
    that was announced, or None if anything may have changed. `on_alive` gets the seconds for which
    changes are certain to be heard: 0 after a loss."""

    def __init__(
        self,
        url: str,
        on_change: Mapping[str, Callable[[UUID | None], None]],
        on_alive: Callable[[float], None],
    ) -> None:
        self._url = url
        self._on_change = on_change
        self._on_alive = on_alive
        self._watchdog = Watchdog()
        self._is_lost = False

    def run(self, stopped: threading.Event) -> None:
        while not stopped.is_set():
            try:
                self._listen(stopped)
            except Exception as error:
                self._on_alive(0.0)
                if not self._is_lost:
                    _log.warning("keys.watch_lost", problem=type(error).__name__)
                self._is_lost = True
                stopped.wait(_RECONNECT_SECONDS)

    def _listen(self, stopped: threading.Event) -> None:
        name = "holdfast keys"
        with psycopg.connect(self._url, application_name=name, **CONNECTION_OPTIONS) as connection:
            with self._watchdog.limit(connection, ANSWER_SECONDS_MAX):
                for channel in self._on_change:
                    connection.execute(SQL("LISTEN {}").format(Identifier(channel)))
            # From here on nothing is missed; what happened before may have been.
            for listener in self._on_change.values():
                listener(None)
            if self._is_lost:
                _log.info("keys.watch_restored")
            self._is_lost = False
            while not stopped.is_set():
                with self._watchdog.limit(connection, ANSWER_SECONDS_MAX):
                    connection.execute("SELECT")
                self._on_alive(TRUSTED_SECONDS)
                # All that have arrived: many revocations of one tenant are one change.
                notices = connection.notifies(timeout=QUIET_SECONDS, stop_after=1)
                for channel, payload in {(each.channel, each.payload) for each in notices}:
                    self._on_change[channel](_announced(payload))


def _announced(payload: str) -> UUID | None:
    """Anybody with a login can send notifications."""
    try:
        return UUID(payload)
    except ValueError:
        return None
