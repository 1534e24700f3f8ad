"""The secrets that stored addresses are sealed with, as the processes record them."""

from collections.abc import Collection, Iterable

import psycopg

from holdfast.adapters.postgres.connections.connection import CONNECT_TIMEOUT_SECONDS, Connection
from holdfast.ports.privacy.addresses import SecretMissing, TextSeal

# The start of a sealed text: its version and the id of its secret.
MARK_BYTES = 5

# Any number that nothing else in this database locks: of two first starts with different secrets,
# one sees the other's.
_LOCK = 4_741_836_059_215_102_002
_TAKE_LOCK = "SELECT pg_advisory_xact_lock(%s)"
_IS_THERE = "SELECT to_regclass('public.address_secret') IS NOT NULL"
_AS_SERVER = "SET LOCAL ROLE holdfast_app"
_IN_USE = "SELECT id FROM address_secret WHERE NOT is_lost ORDER BY first_used_at"
_LOST = "SELECT id FROM address_secret WHERE is_lost"
_RETIRE = "DELETE FROM address_secret WHERE id <> ALL (%s::bytea[])"
_USE = """
INSERT INTO address_secret (id) VALUES (%s)
ON CONFLICT (id) DO UPDATE SET is_lost = false WHERE address_secret.is_lost
"""


def use_secrets(url: str, known: Collection[bytes], current: bytes | None) -> list[bytes] | None:
    """The ids of secrets in use that are not known. If there are none, records that the current one
    is used. None if the database cannot be used: a server starts without it."""
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_SECONDS) as connection:
            if connection.execute(_IS_THERE).fetchone() != (True,):
                return None
            connection.execute(_AS_SERVER)
            connection.execute(_TAKE_LOCK, [_LOCK])
            in_use = [id_ for (id_,) in connection.execute(_IN_USE)]
            missing = [id_ for id_ in in_use if id_ not in known]
            if not missing and current is not None:
                connection.execute(_USE, [current])
            return missing
    except psycopg.Error:
        return None


def refuse_missing_secret(connection: Connection, seal: TextSeal, texts: Iterable[bytes]) -> None:
    """Raises SecretMissing if one of these texts needs a secret that this process does not have,
    unless an operator has given that secret up."""
    missing = [text for text in texts if not seal.knows(text)]
    if missing:
        lost = lost_secrets(connection)
        for text in missing:
            if text[1:MARK_BYTES] not in lost:
                raise SecretMissing(text[1:MARK_BYTES])


def lost_secrets(connection: Connection) -> set[bytes]:
    """The ids of the secrets that an operator has given up."""
    return {id_ for (id_,) in connection.execute(_LOST)}


def retire_secrets(connection: Connection, used: Collection[bytes]) -> None:
    """Forget all others, as the owner of the tables."""
    connection.execute(_TAKE_LOCK, [_LOCK])
    connection.execute(_RETIRE, [list(used)])
