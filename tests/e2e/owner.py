"""The owner of the database: reads rows and moves them back in time."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg

from holdfast.adapters.postgres.holds.statements import TRY_REAPING
from tests.support.patience import wait_until
from tests.support.platform import Json

# All but the audit, which also records refused attempts.
TABLES = (
    "event",
    "session",
    "pool",
    "pool_lapse",
    "ticket_type",
    "ticket_type_pool",
    "block",
    "block_price",
    "seat",
    "hold",
    "hold_line",
    "waiting_line",
    "waiting_place",
    "checkout",
    "purchase_order",
    "ticket",
    "outbox",
    "idempotency",
)


@dataclass(frozen=True)
class Owner:
    """Connects for each query, so no connection stays open while a server is broken or stopped."""

    database_url: str

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            return connection.execute(query.encode(), parameters).fetchall()

    def run(self, statement: str, *parameters: object) -> None:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            connection.execute(statement.encode(), parameters)

    @contextmanager
    def locked_seat(self, seat_id: str) -> Iterator[None]:
        """Lock a seat row, as somebody with `psql` might."""
        with psycopg.connect(self.database_url) as connection:
            connection.execute("SELECT FROM seat WHERE id = %s FOR UPDATE", [seat_id])
            yield
            connection.rollback()

    def let_pass(self, organization_id: str, seconds: int) -> None:
        """Move all of an organization's rows back in time, because nobody can set the database's
        clock. One transaction, because the reaper may look at any moment."""
        names = {"shift": timedelta(seconds=seconds), "organization": organization_id}
        with psycopg.connect(self.database_url) as connection:
            # Not during a reaper's turn: unchanged versions tell it that its reads are still valid.
            connection.execute(TRY_REAPING.replace("try_", ""))
            connection.execute(
                "SELECT FROM pool WHERE organization_id = %(organization)s ORDER BY id FOR UPDATE",
                names,
            )
            connection.execute(
                "UPDATE seat SET held_until = held_until - %(shift)s,"
                " locked_at = locked_at - %(shift)s, changed_xid = pg_current_xact_id()"
                " WHERE organization_id = %(organization)s AND status = 'held'",
                names,
            )
            connection.execute(
                "UPDATE hold SET created_at = created_at - %(shift)s,"
                " updated_at = updated_at - %(shift)s, held_at = held_at - %(shift)s,"
                " expires_at = expires_at - %(shift)s, due_at = due_at - %(shift)s,"
                " warn_at = warn_at - %(shift)s, expired_at = expired_at - %(shift)s,"
                " given_up_at = given_up_at - %(shift)s"
                " WHERE organization_id = %(organization)s",
                names,
            )
            connection.execute(
                "UPDATE waiting_place SET since = since - %(shift)s"
                " WHERE organization_id = %(organization)s",
                names,
            )
            connection.execute(
                "UPDATE waiting_line SET opened_at = opened_at - %(shift)s"
                " WHERE organization_id = %(organization)s",
                names,
            )
            lapses = connection.execute(
                "DELETE FROM pool_lapse WHERE organization_id = %(organization)s"
                " RETURNING organization_id, pool_id, lapses_at - %(shift)s, units",
                names,
            ).fetchall()
            for lapse in lapses:
                connection.execute("INSERT INTO pool_lapse VALUES (%s, %s, %s, %s)", lapse)

    def status(self, hold_id: str) -> str:
        """The status stored in the row, whatever the time is."""
        ((status,),) = self.rows("SELECT status FROM hold WHERE id = %s", hold_id)
        return str(status)

    def wait_for_status(self, hold_id: str, status: str) -> None:
        wait_until(lambda: self.status(hold_id) == status, f"hold {hold_id} is {status}")

    def facts(self, hold_id: str) -> list[tuple[str, Json]]:
        """Type and payload of every fact about a hold, in order."""
        return [
            (str(kind), dict(payload))
            for kind, payload in self.rows(
                "SELECT type, payload FROM outbox WHERE hold_id = %s ORDER BY seq", hold_id
            )
        ]

    def failed_attempts(self, organization_id: str) -> list[tuple[str, str]]:
        """Action and code of each refused attempt; they are written asynchronously."""
        query = (
            "SELECT action, new ->> 'error' FROM audit"
            " WHERE organization_id = %s AND action LIKE '%%_failed' ORDER BY seq"
        )
        wait_until(lambda: bool(self.rows(query, organization_id)), "an attempt is in the audit")
        return [(action, error) for action, error in self.rows(query, organization_id)]

    def counters(self, organization_id: str) -> list[tuple[int, int, int]]:
        """Total, held and sold of each pool, in order of creation."""
        rows = self.rows(
            "SELECT total, held, sold FROM pool WHERE organization_id = %s ORDER BY id",
            organization_id,
        )
        return [(total, held, sold) for total, held, sold in rows]

    def everything(self, organization_id: str) -> Counter[str]:
        """Row counts of each table and the number of held places, to check that nothing changed."""
        counts = ", ".join(
            f"(SELECT count(*) FROM {table} WHERE organization_id = %(organization)s)"
            for table in TABLES
        )
        with psycopg.connect(self.database_url) as connection:
            row = connection.execute(
                f"SELECT {counts}, (SELECT coalesce(sum(held), 0) FROM pool"
                " WHERE organization_id = %(organization)s)".encode(),
                {"organization": organization_id},
            ).fetchone()
        assert row is not None
        return Counter(dict(zip((*TABLES, "places held"), map(int, row), strict=True)))

    def assert_counters_add_up(self, organization_id: str) -> None:
        """Check that the pools' counters match their holds."""
        held = self.rows(
            "SELECT p.id, p.held, coalesce(sum(l.quantity) FILTER (WHERE h.status = 'active'), 0)"
            " FROM pool p LEFT JOIN hold_line l"
            " ON l.organization_id = p.organization_id AND p.id = ANY (l.pool_ids)"
            " AND l.removed_version IS NULL"
            " LEFT JOIN hold h ON h.organization_id = l.organization_id AND h.id = l.hold_id"
            " WHERE p.organization_id = %s GROUP BY p.id, p.held",
            organization_id,
        )
        for pool_id, counted, summed in held:
            assert counted == summed, (
                f"pool {pool_id} counts {counted}, its holds add up to {summed}"
            )
