"""The inbox: makes a message take effect only once."""

from collections.abc import Callable

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.group.origin import Receipt
from holdfast.domain.ids import OrganizationId

# How long the effect of a message may take.
EFFECT_SECONDS_MAX = 90

# A second consumer of a message waits for the first, and the transaction is idle during the effect:
# both take longer than the usual timeouts.
_PATIENCE = f"""
SET LOCAL lock_timeout = '{EFFECT_SECONDS_MAX}s';
SET LOCAL statement_timeout = '{EFFECT_SECONDS_MAX}s';
SET LOCAL idle_in_transaction_session_timeout = '{EFFECT_SECONDS_MAX}s';
"""
# The receipt alone would do, but a transaction that has written delays all newer facts until it
# ends. So it locks first, and writes last.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_IS_TAKEN_IN = """
SELECT FROM inbox WHERE organization_id = %s AND consumer = %s AND event_id = %s
"""
_TAKE_IN = "INSERT INTO inbox (organization_id, consumer, event_id) VALUES (%s, %s, %s)"


class PostgresInbox:
    """Implements Inbox."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def once(
        self, organization_id: OrganizationId, receipt: Receipt, effect: Callable[[], None]
    ) -> bool:
        names = (organization_id, receipt.consumer, receipt.event_id)
        seconds = 2 * EFFECT_SECONDS_MAX  # our own effect, after another consumer's
        with self._database.transaction(organization_id, seconds=seconds) as connection:
            connection.execute(_PATIENCE)
            connection.execute(_LOCK, (" ".join(map(str, names)),))
            if connection.execute(_IS_TAKEN_IN, names).fetchone() is not None:
                return False
            effect()
            connection.execute(_TAKE_IN, names)
        return True
