"""Erases a person's data. Statements follow the engine's lock order: seats before holds. The holds
that guard orders and tickets, also those of other buyers, are locked before these: a group waits
for no row whose guard it has. The address is erased last, because the next slice finds the rest by
it. No version rises, because no status does: facts and audit entries continue the versions."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.answers import PATIENCE, answered_once, recorded_answer
from holdfast.adapters.postgres.audit.entries import write_entry
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.privacy.resealing import TABLES
from holdfast.adapters.postgres.privacy.secrets_in_use import refuse_missing_secret
from holdfast.domain.forgetting import Forgotten
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.values import EmailAddress, Holder, JsonValue
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.privacy.addresses import Addresses
from holdfast.ports.privacy.forgetting import OPEN_HOLDS_LISTED_MAX, ForgetOutcome

# Of one slice: holds and orders, and the seats, tickets and audit entries that belong to them.
OWNERS_MAX = 100
ROWS_MAX = 1_000
SAMPLES_MAX = 200

_OF_PERSON = "organization_id = %(own)s AND email_key = ANY (%(keys)s::uuid[])"
_OPEN = f"""
SELECT id FROM hold WHERE {_OF_PERSON} AND status IN ('waiting', 'active')
LIMIT {OPEN_HOLDS_LISTED_MAX}
"""  # noqa: S608
_HAS_HOLDS = f"SELECT EXISTS (SELECT FROM hold WHERE {_OF_PERSON})"  # noqa: S608
_ENDED = f"""
SELECT id FROM hold WHERE {_OF_PERSON} AND status NOT IN ('waiting', 'active')
ORDER BY id LIMIT {OWNERS_MAX}
"""  # noqa: S608
_ORDERS = f"""
SELECT id, hold_ids[1] FROM purchase_order WHERE {_OF_PERSON} LIMIT {OWNERS_MAX}
"""  # noqa: S608
_TICKETS_OF_ORDERS = f"""
SELECT id, hold_id FROM ticket
WHERE organization_id = %(own)s AND order_id = ANY (%(orders)s) AND attendee IS NOT NULL
LIMIT {ROWS_MAX}
"""  # noqa: S608
_TICKETS_OF_ATTENDEE = f"""
SELECT id, hold_id FROM ticket
WHERE organization_id = %(own)s AND attendee_key = ANY (%(keys)s::uuid[]) LIMIT {ROWS_MAX}
"""  # noqa: S608
_GUARDS = """
SELECT FROM hold WHERE organization_id = %(own)s AND id = ANY (%(guards)s)
ORDER BY id FOR NO KEY UPDATE
"""
# A sold seat keeps its holder. One that was freed may belong to somebody else's hold by now.
_SEATS_OF_HOLD = """
SELECT s.id FROM hold_line l
JOIN seat s ON s.organization_id = l.organization_id AND s.id = l.seat_id AND s.hold_id = l.hold_id
WHERE l.organization_id = %(own)s AND l.hold_id = h.id AND s.holder_key = %(old_key)s
"""
_SEATS = f"""
WITH found AS (
    SELECT s.id FROM unnest(%(holds)s::uuid[]) AS h (id)
    CROSS JOIN LATERAL ({_SEATS_OF_HOLD}) AS s LIMIT {ROWS_MAX})
UPDATE seat s SET holder_key = %(new_key)s
FROM found f WHERE s.organization_id = %(own)s AND s.id = f.id
"""  # noqa: S608
_FACTS = "SELECT holdfast_forget_facts(%(own)s, %(holds)s)"
_ENTRIES = f"""
SELECT holdfast_forget_entries(%(own)s, %(holds)s, %(keys)s::uuid[], {ROWS_MAX})
"""
_HOLDS = f"""
UPDATE hold h SET customer_email = NULL, email_key = NULL, notes = NULL, metadata = '{{}}',
    user_id = coalesce(user_id, %(pseudonym)s)
WHERE h.organization_id = %(own)s AND h.id = ANY (%(holds)s)
    AND NOT EXISTS ({_SEATS_OF_HOLD})
    AND NOT EXISTS (
        SELECT FROM audit a WHERE a.organization_id = %(own)s AND a.hold_id = h.id
            AND num_nonnulls(a.holder, a.holder_email, a.ip, a.user_agent) > 0)
"""  # noqa: S608
_TICKETS = """
UPDATE ticket SET attendee = NULL, attendee_key = NULL
WHERE organization_id = %(own)s AND id = ANY (%(tickets)s) AND attendee IS NOT NULL
"""
_ORDERS_DONE = """
UPDATE purchase_order o SET customer_email = NULL, email_key = NULL, metadata = '{}',
    user_id = coalesce(o.user_id, %(pseudonym)s)
WHERE o.organization_id = %(own)s AND o.id = ANY (%(orders)s) AND NOT EXISTS (
    SELECT FROM ticket t
    WHERE t.organization_id = %(own)s AND t.order_id = o.id AND t.attendee IS NOT NULL)
"""
# In the order of their hashes, which is a random one.
_SAMPLES = f"""
SELECT {{sealed}} FROM {{table}} WHERE organization_id = %s AND {{key}} IS NOT NULL
ORDER BY {{key}} LIMIT {SAMPLES_MAX}
"""  # noqa: S608


class PostgresForgetting:
    """Implements ForgettingStore."""

    def __init__(self, database: Database, addresses: Addresses) -> None:
        self._database = database
        self._seal = addresses.seal
        self._hashes = addresses.hashes

    def recorded(
        self, organization_id: OrganizationId, idempotency: IdempotencyKey | None
    ) -> StoredAnswer[ForgetOutcome] | None:
        with self._database.transaction(organization_id) as connection:
            return recorded_answer(connection, idempotency)

    def refuse_missing_secrets(self, organization_id: OrganizationId) -> None:
        own = organization_id
        with self._database.transaction(organization_id) as connection:
            for table, (sealed, key) in TABLES.items():
                query = _SAMPLES.format(table=table, sealed=sealed, key=key).encode()
                texts = [text for (text,) in connection.execute(query, [own])]
                refuse_missing_secret(connection, self._seal, texts)

    def open_holds(self, organization_id: OrganizationId, email: EmailAddress) -> Sequence[HoldId]:
        names = {"own": organization_id, "keys": self._hashes.address_keys(organization_id, email)}
        with self._database.transaction(organization_id) as connection:
            return [HoldId(id_) for (id_,) in connection.execute(_OPEN, names)]

    def forget_some(
        self, organization_id: OrganizationId, email: EmailAddress, pseudonym: str, origin: Origin
    ) -> Forgotten:
        names = {
            "own": organization_id,
            "keys": self._hashes.address_keys(organization_id, email),
            "pseudonym": pseudonym,
            "old_key": Holder(email).key,
            "new_key": Holder(user_id=pseudonym).key,
        }
        with self._database.transaction(organization_id) as connection:
            connection.execute(PATIENCE)
            forgotten = _forget(connection, names)
            if not forgotten.is_empty:
                _write_entry(connection, organization_id, origin, forgotten)
            return forgotten

    def record(
        self,
        organization_id: OrganizationId,
        forgotten: Forgotten,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[ForgetOutcome], bytes],
    ) -> StoredAnswer[ForgetOutcome]:
        with self._database.transaction(organization_id) as connection:

            def decide() -> ForgetOutcome:
                if forgotten.is_empty:
                    _write_entry(connection, organization_id, origin, forgotten)
                return forgotten

            key = idempotency if forgotten.is_complete else None
            return answered_once(connection, key, render, decide)


def _forget(connection: Connection, names: dict[str, Any]) -> Forgotten:
    names["holds"] = [id_ for (id_,) in connection.execute(_ENDED, names)]
    orders: dict[UUID, UUID] = dict(connection.execute(_ORDERS, names).fetchall())
    names["orders"] = list(orders)
    tickets: dict[UUID, UUID] = {}
    for query in (_TICKETS_OF_ORDERS, _TICKETS_OF_ATTENDEE):
        tickets |= dict(connection.execute(query, names).fetchall())
    names["tickets"] = list(tickets)
    names["guards"] = list({*names["holds"], *orders.values(), *tickets.values()})
    connection.execute(_SEATS, names)
    connection.execute(_GUARDS, names)
    ((facts,),) = connection.execute(_FACTS, names)
    ((entries,),) = connection.execute(_ENTRIES, names)
    erased = [connection.execute(each, names).rowcount for each in (_HOLDS, _TICKETS, _ORDERS_DONE)]
    of_holds, of_tickets, of_orders = erased
    forgotten = Forgotten(of_holds, of_orders, of_tickets, facts, entries, is_complete=False)
    if not forgotten.is_empty:
        return forgotten
    ((is_left,),) = connection.execute(_HAS_HOLDS, names)
    return Forgotten(is_complete=not is_left)


def _write_entry(
    connection: Connection, organization_id: OrganizationId, origin: Origin, forgotten: Forgotten
) -> None:
    new: dict[str, JsonValue] = {**forgotten.counts()}
    write_entry(connection, organization_id, "person.forgotten", origin, old=None, new=new)
