"""Reading the audit. It is large and only grows, so every query reads an index from the newest
entry on, and stops after a bounded number of entries."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.rows import Row
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.ids import HoldId, OrganizationId, SeatId, SessionId
from holdfast.domain.values import Holder
from holdfast.ports.audit.reader import (
    AuditEntry,
    AuditFilter,
    AuditOutcome,
    AuditPosition,
    AuditSlice,
)

# The entries that one query examines for a filter without an index.
EXAMINED_MAX = 10_000
# The holds of a cart or holder whose entries are looked up, and the entries of each. With more
# holds, the log is searched in its order.
HOLDS_MAX = 500
ENTRIES_OF_HOLD_MAX = 1_000

_COLUMNS = """
a.seq, a.at, a.action, a.hold_id, a.seat_id, a.catalog_id, a.key_id, a.session_id,
a.ticket_type_ids, a.cart, a.holder, a.actor, a.acting_user, a.request_id, host(a.ip),
a.user_agent, a.old, a.new"""

# Without statistics, the planner would rather collect and sort all entries of an organization than
# read an index in its order.
IN_ORDER = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off"

_NEWEST_FIRST = "ORDER BY a.at DESC, a.seq DESC"

# The limit keeps the planner from reading through the whole log for a filter that fits little.
_EXAMINED = f"""
SELECT {{columns}} FROM audit a
WHERE a.organization_id = %(organization_id)s AND {{source}} AND {{period}}
{_NEWEST_FIRST}"""  # noqa: S608

_ENTRIES = f"""
SELECT {_COLUMNS} FROM ({{examined}}) AS a WHERE {{conditions}}
{_NEWEST_FIRST} LIMIT %(limit)s
"""  # noqa: S608

# The entries of some holds, and the refused attempts of the same holder or cart.
_OF_HOLDS = f"""
SELECT of_hold.* FROM ({{holds}}) AS h (id) CROSS JOIN LATERAL (
    SELECT a.* FROM audit a
    WHERE a.organization_id = %(organization_id)s AND a.hold_id = h.id AND {{period}}
    {_NEWEST_FIRST} LIMIT {ENTRIES_OF_HOLD_MAX}) AS of_hold
WHERE NOT coalesce(of_hold.new ? 'error' AND {{is_refused}}, false)"""  # noqa: S608
_AND_REFUSED = f"""
UNION ALL (
    SELECT a.* FROM audit a
    WHERE a.organization_id = %(organization_id)s AND a.new -> 'error' IS NOT NULL
        AND {{refused}} AND {{period}}
    {_NEWEST_FIRST} LIMIT {EXAMINED_MAX})"""  # noqa: S608

_HOLDS = f"""
SELECT x.id FROM hold x WHERE x.organization_id = %(organization_id)s AND {{of}}
LIMIT {HOLDS_MAX + 1}"""  # noqa: S608
# OFFSET keeps the planner from reading all holds of the holder for a few entries.
_IS_OF_HOLD = """EXISTS (
    SELECT FROM hold x
    WHERE x.organization_id = %(organization_id)s AND x.id = a.hold_id AND {of} OFFSET 0)"""
_HOLDS_OF_ORDER = """
SELECT unnest(o.hold_ids) FROM purchase_order o
WHERE o.organization_id = %(organization_id)s AND o.id = %(order_id)s"""
_SESSIONS_OF_EVENT = """ARRAY (
    SELECT s.id FROM session s
    WHERE s.organization_id = %(organization_id)s AND s.event_id = %(event_id)s)"""


class _OfHolds(NamedTuple):
    """Finds entries by way of holds: by a condition of the hold, and by the columns of refused
    attempts that have an index. `value` is the start of the names of what these columns have."""

    of: str
    refused: tuple[str, ...] = ()
    value: str = ""
    holds: str = _HOLDS

    def examined(self, period: str, names: Iterable[str]) -> str:
        refused = self._refused(names)
        is_refused = f"({' OR '.join(f'of_hold.{each}' for each in refused) or 'false'})"
        holds = self.holds.format(of=self.of)
        of_holds = _OF_HOLDS.format(holds=holds, is_refused=is_refused, period=period)
        return of_holds + "".join(
            _AND_REFUSED.format(refused=f"a.{each}", period=period) for each in refused
        )

    def condition(self, names: Iterable[str]) -> str:
        """The same entries, for a search."""
        refused = [f"a.{each}" for each in self._refused(names)]
        return f"({' OR '.join([_IS_OF_HOLD.format(of=self.of), *refused])})"

    def _refused(self, names: Iterable[str]) -> list[str]:
        values = [name for name in names if name.startswith(self.value)]
        return [f"{column} = %({name})s" for column in self.refused for name in values]


_BY_EMAIL = _OfHolds(
    "x.email_key = ANY (%(email_keys)s::uuid[])", ("holder", "holder_email"), "hash_"
)
# In this order: the first that is given is looked up, the others are conditions.
_BY_HOLDS = {
    "email": _BY_EMAIL,
    "email_keys": _BY_EMAIL,
    "user_id": _OfHolds("x.user_id = %(user_id)s", ("holder",), "hash_"),
    "cart_token": _OfHolds("x.cart_token = %(cart_token)s", ("cart",), "cart_token"),
    "order_id": _OfHolds("", holds=_HOLDS_OF_ORDER),
}
_SUBJECTS = ("hold_id", "seat_id", "catalog_id", "key_id")
_REFUSED = "a.new ? 'error'"

_CONDITIONS = {
    **{name: f"a.{name} = %({name})s" for name in _SUBJECTS},
    **{
        name: f"a.{name} = %({name})s"
        for name in ("action", "actor", "acting_user", "user_agent", "request_id")
    },
    "cart_token": "a.cart = %(cart_token)s",
    "order_id": f"(a.hold_id = ANY (ARRAY ({_HOLDS_OF_ORDER})))",
    "session_id": "(a.session_id = %(session_id)s OR a.catalog_id = %(session_id)s)",
    "event_id": f"(a.catalog_id = %(event_id)s OR a.session_id = ANY ({_SESSIONS_OF_EVENT})"
    f" OR a.catalog_id = ANY ({_SESSIONS_OF_EVENT}))",
    "ticket_type_id": "(a.ticket_type_ids @> ARRAY[%(ticket_type_id)s::uuid]"
    " OR a.catalog_id = %(ticket_type_id)s)",
    "ip": "a.ip = %(ip)s::inet",
    "error": "a.new ->> 'error' = %(error)s",
}
_PERIOD = {
    "created_from": "a.at >= %(created_from)s",
    "created_before": "a.at < %(created_before)s",
    # The first part tells which partitions to read.
    "before": "a.at <= %(before_at)s AND (a.at, a.seq) < (%(before_at)s, %(before_seq)s)",
}


class AuditQuery(NamedTuple):
    """`entries` finds the entries. `last_examined` finds where a bounded search has ended; it is
    None if the search sees everything. `holds` finds the holds by whose way it looks."""

    entries: str
    last_examined: str | None
    names: dict[str, Any]
    holds: str | None = None


class PostgresAudit:
    """Implements AuditReader."""

    def __init__(self, database: Database, hashes: HolderHashes) -> None:
        self._database = database
        self._hashes = hashes

    def entries(
        self,
        organization_id: OrganizationId,
        only: AuditFilter,
        limit: int,
        before: AuditPosition | None = None,
    ) -> AuditSlice:
        """One entry more is read, to see whether there are more."""
        query = audit_query(organization_id, only, limit + 1, before, self._hashes)
        with self._database.transaction(organization_id) as connection:
            connection.execute(IN_ORDER)
            if _has_many_holds(connection, query):
                query = audit_query(
                    organization_id, only, limit + 1, before, self._hashes, is_search=True
                )
            found = tuple(_entry(row) for row in connection.execute(query.entries, query.names))
            if len(found) > limit:
                return AuditSlice(found[:limit], found[limit - 1].position)
            if query.last_examined is None:
                return AuditSlice(found, None)
            last = connection.execute(query.last_examined, query.names).fetchone()
            return AuditSlice(found, None if last is None else AuditPosition(*last))


def _has_many_holds(connection: Connection, query: AuditQuery) -> bool:
    if query.holds is None:
        return False
    return len(connection.execute(query.holds, query.names).fetchall()) > HOLDS_MAX


def audit_query(
    organization_id: OrganizationId,
    only: AuditFilter,
    limit: int,
    before: AuditPosition | None,
    hashes: HolderHashes,
    *,
    is_search: bool = False,
) -> AuditQuery:
    """The query with only the given conditions: each combination uses its index. With `is_search`,
    entries are not looked up by way of holds."""
    names = {
        "organization_id": organization_id,
        "limit": limit,
        **_names(only, before),
        **_holder_names(organization_id, only, hashes),
    }
    given = [name for name in AuditFilter.__dataclass_fields__ if getattr(only, name) is not None]
    period = _all(sql for name, sql in _PERIOD.items() if name in given or f"{name}_at" in names)
    sources = [name for name in (*_BY_HOLDS, *_SUBJECTS) if name in given]
    searched = sources.pop(0) if is_search else None
    if is_search:
        sources = [name for name in sources if name in _SUBJECTS]
    source = sources[0] if sources else None
    looked_for = {source, searched}
    conditions = [_CONDITIONS[name] for name in given if name in _CONDITIONS.keys() - looked_for]
    if searched is not None:
        conditions.append(_BY_HOLDS[searched].condition(names))
    if only.outcome is not None:
        is_done = only.outcome is AuditOutcome.DONE
        conditions.append(f"NOT {_REFUSED}" if is_done else _REFUSED)
    if source in _BY_HOLDS:
        by = _BY_HOLDS[source]
        examined = by.examined(period, names)
        entries = _ENTRIES.format(examined=examined, conditions=_all(conditions))
        return AuditQuery(entries, None, names, by.holds.format(of=by.of) if by.of else None)
    index = _CONDITIONS.get(source or "")
    if index is None:
        is_refused = only.error is not None or only.outcome is AuditOutcome.REFUSED
        index = _REFUSED if is_refused else "true"
    examined = _EXAMINED.format(columns="a.*", source=index, period=period)
    last = _EXAMINED.format(columns="a.at, a.seq", source=index, period=period)
    examined += f" LIMIT {EXAMINED_MAX}" if conditions else " LIMIT %(limit)s"
    entries = _ENTRIES.format(examined=examined, conditions=_all(conditions))
    last_examined = f"{last} LIMIT 1 OFFSET {EXAMINED_MAX - 1}" if conditions else None
    return AuditQuery(entries, last_examined, names)


def _names(only: AuditFilter, before: AuditPosition | None) -> dict[str, Any]:
    names = {
        name: getattr(only, name)
        for name in AuditFilter.__dataclass_fields__
        if name not in {"email", "email_keys", "outcome"} and getattr(only, name) is not None
    }
    if before is not None:
        names |= {"before_at": before.at, "before_seq": before.seq}
    return names


def _holder_names(
    organization_id: OrganizationId, only: AuditFilter, hashes: HolderHashes
) -> dict[str, Any]:
    if only.email_keys is not None:
        keys = found = [each.hex for each in only.email_keys]
    elif only.email is not None:
        keys = hashes.address_keys(organization_id, only.email)
        found = hashes.all_of(organization_id, Holder(only.email))
    elif only.user_id is not None:
        keys, found = [], hashes.all_of(organization_id, Holder(user_id=only.user_id))
    else:
        return {}
    return {"email_keys": keys, **{f"hash_{n}": each for n, each in enumerate(found)}}


def _all(conditions: Iterable[str]) -> str:
    return " AND ".join(conditions) or "true"


def _entry(row: Row) -> AuditEntry:
    seq, at, action, hold_id, seat_id, catalog_id, key_id, session_id, types, *rest = row
    return AuditEntry(
        seq,
        at,
        action,
        None if hold_id is None else HoldId(hold_id),
        None if seat_id is None else SeatId(seat_id),
        catalog_id,
        key_id,
        None if session_id is None else SessionId(session_id),
        tuple(types or ()),
        *rest,
    )
