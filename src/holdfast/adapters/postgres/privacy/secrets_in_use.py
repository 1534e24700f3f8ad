"""The secrets that stored addresses are sealed with, as the processes record them."""

from collections.abc import Collection

import psycopg

from holdfast.adapters.postgres.connections.connection import CONNECT_TIMEOUT_SECONDS, Connection

# Any number that nothing else in this database locks: of two first starts with different secrets,
# one sees the other's.
_LOCK = 4_741_836_059_215_102_002
_TAKE_LOCK = "SELECT pg_advisory_xact_lock(%s)"
_IS_THERE = "SELECT to_regclass('public.address_secret') IS NOT NULL"
_AS_SERVER = "SET LOCAL ROLE holdfast_app"
_IN_USE = "SELECT id FROM address_secret ORDER BY first_used_at"
_RETIRE = "DELETE FROM address_secret WHERE id <> ALL (%s::bytea[])"
_USE = "INSERT INTO address_secret (id) VALUES (%s) ON CONFLICT DO NOTHING"


def use_secrets(url: str, known: Collection[bytes], current: bytes | None) -> list[bytes]:
    """The ids of secrets in use that are not known. If there are none, records that the current one
    is used. Empty if the database cannot be used: a server starts without it."""
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_SECONDS) as connection:
            if connection.execute(_IS_THERE).fetchone() != (True,):
                return []
            connection.execute(_AS_SERVER)
            connection.execute(_TAKE_LOCK, [_LOCK])
            in_use = [id_ for (id_,) in connection.execute(_IN_USE)]
            missing = [id_ for id_ in in_use if id_ not in known]
            if not missing and current is not None:
                connection.execute(_USE, [current])
            return missing
    except psycopg.Error:
        return []


def retire_secrets(connection: Connection, used: Collection[bytes]) -> None:
    """Forget all others, as the owner of the tables."""
    connection.execute(_TAKE_LOCK, [_LOCK])
    connection.execute(_RETIRE, [list(used)])
