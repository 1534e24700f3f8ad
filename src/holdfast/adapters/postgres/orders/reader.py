"""Reading checkouts and orders."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from holdfast.adapters.postgres.engine.rows import array
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.holds.rows import hold_from_row
from holdfast.adapters.postgres.orders import statements as sql
from holdfast.adapters.postgres.orders.rows import order_from_row
from holdfast.domain.holder_hash import NO_HASHES, HolderHashes
from holdfast.domain.ids import CheckoutId, OrderId, OrganizationId, TicketId
from holdfast.domain.orders.order import Checkout, Order, revival_id
from holdfast.ports.orders import TICKETS_PER_PAGE_MAX, OrderFilter, SeenCheckout
from holdfast.ports.paging import Cursor, Page, PageRequest
from holdfast.ports.privacy.addresses import CLEAR_ADDRESSES, Addresses


class PostgresOrders:
    """Implements OrderReader."""

    def __init__(self, database: Database, addresses: Addresses = CLEAR_ADDRESSES) -> None:
        self._database = database
        self._addresses = addresses

    def checkout(
        self, organization_id: OrganizationId, checkout_id: CheckoutId
    ) -> SeenCheckout | None:
        with self._database.transaction(organization_id) as connection:
            found = connection.execute(sql.CHECKOUT, (organization_id, checkout_id)).fetchone()
            if found is None:
                return None
            hold_ids, created_at, at = found
            wanted = [*hold_ids, *map(revival_id, hold_ids)]
            rows = connection.execute(sql.HOLDS, (organization_id, array(wanted))).fetchall()
        holds = {hold.id: hold for hold in map(partial(hold_from_row, self._addresses), rows)}
        # A late payment replaced an expired hold: show the replacement.
        shown = tuple(holds.get(revival_id(hold_id)) or holds[hold_id] for hold_id in hold_ids)
        orders = {hold.order_id for hold in shown}
        return SeenCheckout(
            Checkout(organization_id, checkout_id, tuple(hold_ids), created_at),
            shown,
            orders.pop() if len(orders) == 1 else None,
            at,
        )

    def order(self, organization_id: OrganizationId, order_id: OrderId) -> Order | None:
        with self._database.transaction(organization_id) as connection:
            row = connection.execute(sql.ORDER, (organization_id, order_id)).fetchone()
        return None if row is None else order_from_row(self._addresses, row)

    def tickets_with_code(
        self, organization_ids: Sequence[OrganizationId], code: str
    ) -> Sequence[tuple[OrganizationId, TicketId]]:
        with self._database.transaction(*organization_ids) as connection:
            asked = (array(organization_ids), code)
            rows = connection.execute(sql.TICKETS_WITH_CODE, asked).fetchall()
        return [(OrganizationId(own), TicketId(ticket_id)) for own, ticket_id in rows]

    def orders(
        self, organization_id: OrganizationId, only: OrderFilter, page: PageRequest
    ) -> Page[Order]:
        with self._database.transaction(organization_id) as connection:
            if only.reference is not None:
                wanted = (organization_id, only.reference)
                found = connection.execute(sql.HOLD_OF_REFERENCE, wanted).fetchone()
                if found is None or only.hold_id not in {None, *found}:
                    return Page((), None)
                (hold_id,) = found
                only = replace(only, reference=None, hold_id=hold_id)
            query = orders_query(organization_id, only, page, self._addresses.hashes)
            rows = connection.execute(*query).fetchall()
        items = tuple(order_from_row(self._addresses, order) for _, *order in rows)
        has_more = any(found > len(rows) for found, *_ in rows[:1])
        return Page(items, Cursor(items[-1].created_at, items[-1].id) if has_more else None)


def orders_query(
    organization_id: OrganizationId,
    only: OrderFilter,
    page: PageRequest,
    hashes: HolderHashes = NO_HASHES,
) -> tuple[str, dict[str, Any]]:
    """Only the conditions that are asked for, so that each combination finds its index."""
    asked = {
        "user_id": only.user_id,
        "is_without_user": only.is_without_user,
        "email": only.email and hashes.address_keys(organization_id, only.email),
        "created_from": only.created_from,
        "created_before": only.created_before,
        "payment_reference": only.payment_reference,
        "ticket_code": only.ticket_code,
        "hold_ids": only.hold_id and [only.hold_id, revival_id(only.hold_id)],
        "after": page.after and page.after.at,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    names: dict[str, Any] = given | {
        "organization_id": organization_id,
        "event_id": only.event_id,
        "session_id": only.session_id,
        "after_id": page.after and page.after.id,
        "size": page.size,
        "tickets_max": TICKETS_PER_PAGE_MAX,
    }
    asked_for = ["x.organization_id = %(organization_id)s"]
    asked_for += (sql.CONDITIONS[name] for name in given)
    if only.status is not None:
        is_of_session = not (only.event_id is None and only.session_id is None)
        asked_for.append(sql.status_condition(only.status, is_of_session=is_of_session))
    candidates = _candidates(only, " AND ".join(asked_for))
    if "email" in given:
        candidates = sql.CANDIDATES_OF_EMAIL.format(of_key=candidates)
    return sql.ORDERS.format(candidates=candidates), names


def _candidates(only: OrderFilter, conditions: str) -> str:
    if only.event_id is None and only.session_id is None:
        return sql.CANDIDATES.format(conditions=conditions.format(at="x.created_at", id="x.id"))
    of_hold = conditions.format(at="x.confirmed_at", id="x.order_id")
    if only.event_id is None:
        return sql.CANDIDATES_OF_SESSION.format(conditions=of_hold, session="%(session_id)s")
    return sql.CANDIDATES_OF_EVENT.format(
        of_session=sql.CANDIDATES_OF_SESSION.format(conditions=of_hold, session="s.id"),
        narrowed="" if only.session_id is None else "AND s.id = %(session_id)s",
    )
