"""The log of facts, for the relay (by partition) and for clients that poll."""

from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from uuid import UUID

import psycopg

from holdfast.adapters.postgres.connections.connection import (
    Connection,
    Watchdog,
    connect,
    translated,
)
from holdfast.adapters.postgres.engine.rows import Row
from holdfast.adapters.postgres.facts import statements as sql
from holdfast.adapters.postgres.facts.rows import fact_from_row
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.ids import OrganizationId
from holdfast.domain.values import Holder
from holdfast.ports.facts.log import (
    PARTITIONS,
    FactPage,
    LogAhead,
    Position,
    RelayCursor,
    RelayLag,
    StoredFact,
)
from holdfast.ports.privacy.addresses import CLEAR_ADDRESSES, Addresses
from holdfast.ports.store import StoreUnavailable

# Locks with two numbers never clash with those with one, which all other code uses.
CLAIM_LOCKS = 0x0B0C5
LAG_COUNTED_MAX = 1_000  # of each partition
# Size of a batch's payloads as stored. They are compressed, so about 4 MB are sent.
BATCH_BYTES = 2_500_000
BEGINNING = Position(0, 0)


class PostgresOutbox:
    """Implements Outbox for one thread, on a connection of its own, which is opened on first use
    and again after a loss. Claims are lost with it. No transaction stays open while publishing."""

    def __init__(self, url: str, addresses: Addresses = CLEAR_ADDRESSES) -> None:
        self._url = url
        self._addresses = addresses
        self._watchdog = Watchdog()
        self._line: _Line | None = None
        self._with_cursor: set[int] = set()

    @contextmanager
    def claim(self, partition: int) -> Iterator["_ClaimedPartition | None"]:
        line = self._connected()
        ((is_ours,),) = line.ask(sql.CLAIM, CLAIM_LOCKS, partition)
        if not is_ours:
            yield None
            return
        claimed = _ClaimedPartition(line, partition, self._addresses)
        try:
            if partition not in self._with_cursor:
                # Without a cursor, facts are pruned unrelayed, because there may be no relay.
                claimed.published(BEGINNING)
                self._with_cursor.add(partition)
            yield claimed
        finally:
            if not line.is_lost:
                line.ask(sql.UNCLAIM, CLAIM_LOCKS, partition)

    def lag(self) -> RelayLag:
        (row,) = self._connected().ask(sql.LAG, PARTITIONS, LAG_COUNTED_MAX)
        waiting, oldest_seconds, is_ahead = row
        if is_ahead:
            raise LogAhead("positions of another database")
        return RelayLag(waiting, oldest_seconds)

    def cursors(self) -> tuple[RelayCursor, ...]:
        rows = self._connected().ask(sql.CURSORS)
        return tuple(
            RelayCursor(partition, Position(int(xid), seq), moved_at)
            for partition, xid, seq, moved_at in rows
        )

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def _connected(self) -> "_Line":
        if self._line is None or self._line.is_lost:
            connection = connect(self._url, "holdfast relay", self._watchdog)
            self._line = _Line(connection, self._watchdog)
        return self._line


class _Line:
    """A connection that ends with any error. It is never replaced, because a new one would lack the
    claims."""

    def __init__(self, connection: Connection, watchdog: Watchdog) -> None:
        self._connection = connection
        self._watchdog = watchdog

    @property
    def is_lost(self) -> bool:
        return self._connection.closed

    def ask(self, query: str, *parameters: object) -> list[Row]:
        if self.is_lost:
            raise StoreUnavailable("the connection of the claim is lost")
        try:
            with self._watchdog.limit(self._connection):
                cursor = self._connection.execute(query, parameters)
            # The result has arrived; decoding it is not the server's time.
            return cursor.fetchall()
        except BaseException as error:
            self.close()
            if isinstance(error, psycopg.Error):
                raise translated(error) from error
            raise

    def close(self) -> None:
        self._connection.close()


class _ClaimedPartition:
    """Implements ClaimedPartition."""

    def __init__(self, line: _Line, partition: int, addresses: Addresses) -> None:
        self._line = line
        self._addresses = addresses
        self._partition = partition

    def unpublished(self, limit: int) -> tuple[StoredFact, ...]:
        rows = self._line.ask(sql.UNPUBLISHED, self._partition, limit, BATCH_BYTES)
        return tuple(
            fact_from_row(fact, self._holder_key(fact[0], sealed, user_id))
            for sealed, user_id, *fact in rows
        )

    def _holder_key(
        self, organization_id: UUID, sealed: bytes | None, user_id: str | None
    ) -> UUID | None:
        """None for a fact without a holder. A relay without the secret cannot hash a holder, so it
        leaves out one who has only an address."""
        if user_id is not None:
            return Holder(user_id=user_id).key
        email = self._addresses.opened(organization_id, sealed)
        return None if email is None or not email.is_readable else email.key

    def published(self, up_to: Position) -> None:
        self._line.ask(sql.PUBLISHED, self._partition, str(up_to.xid), up_to.seq)


class PostgresFactLog:
    """Implements FactLog. Leaves out the holders, whom clients that poll know."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def facts(
        self, organization_id: OrganizationId, after: Position | None, limit: int
    ) -> FactPage:
        since = after or BEGINNING
        names = {
            "organization_id": organization_id,
            "xid": str(since.xid),
            "seq": since.seq,
            "limit": limit + 1,
        }
        with self._database.transaction(organization_id) as connection:
            connection.execute(sql.BY_INDEX)
            rows = connection.execute(sql.FACTS, names).fetchall()
        frontier_xid, horizon_xid, horizon_seq, *_ = rows[0]
        frontier, horizon = Position(int(frontier_xid), 0), Position(int(horizon_xid), horizon_seq)
        found = [fact_from_row(fact, None) for _, _, _, is_fact, *fact in rows if is_fact]
        found.sort(key=attrgetter("position"))
        items, has_more = tuple(found[:limit]), len(found) > limit
        return FactPage(
            items,
            # After the last page, clients continue at the frontier: an old cursor could otherwise
            # fall behind the pruned facts in quiet times.
            items[-1].position if has_more else frontier,
            has_more,
            # A cursor beyond the frontier comes from another database.
            is_gone=after is not None and not horizon <= after <= frontier,
        )
