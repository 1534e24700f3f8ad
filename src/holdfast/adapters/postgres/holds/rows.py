"""Holds and their lines: the columns that are read and written, and the values in them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.engine.rows import ColumnList, Row, ids_array, metadata_json
from holdfast.domain.holds.hold import (
    NO_REMARKS,
    CartItem,
    Hold,
    HoldStatus,
    Line,
    LineSeat,
    Remarks,
    SeatWish,
    Source,
    WaitingPlace,
)
from holdfast.domain.ids import (
    BlockId,
    HoldId,
    OrganizationId,
    PoolId,
    SeatId,
    SessionId,
    TicketTypeId,
)
from holdfast.domain.values import Holder, metadata_of
from holdfast.ports.privacy.addresses import Addresses

HOLD_COLUMNS = """
h.organization_id, h.id, h.session_id, h.reference, h.customer_email, h.user_id, h.currency,
h.status, h.version, h.created_at, h.updated_at, h.held_at, h.expires_at, h.confirmed_at,
h.cancelled_at, h.expired_at, h.source, h.cart_token, h.notes, h.metadata, h.warn_at,
h.checkout_id, h.order_id, h.revives, h.is_cart, h.extensions, h.given_up_at,
CASE WHEN h.status = 'waiting' THEN (
    SELECT json_build_array(w.line_id, w.since, w.passes_seen) FROM waiting_place w
    WHERE w.organization_id = h.organization_id AND w.hold_id = h.id) END,
(SELECT json_agg(json_build_array(l.ticket_type_id, l.quantity, l.unit_price_minor, l.position,
     l.pool_ids, CASE WHEN l.seat_id IS NOT NULL THEN (
         SELECT json_build_array(s.id, s.block_id, b.name, s.row_name, s.number, s.position,
             s.is_accessible)
         FROM seat s JOIN block b ON b.organization_id = s.organization_id AND b.id = s.block_id
         WHERE s.organization_id = l.organization_id AND s.id = l.seat_id) END,
     CASE WHEN l.cart_item_id IS NOT NULL THEN json_build_array(l.cart_item_id, l.group_id) END,
     CASE WHEN l.wish_accessible IS NOT NULL THEN
         json_build_array(l.wish_block_id, l.wish_accessible, l.wish_is_together,
                          l.wish_price_minor) END)
     ORDER BY l.position)
 FROM hold_line l
 WHERE l.organization_id = h.organization_id AND l.hold_id = h.id AND l.removed_version IS NULL)
"""


def hold_from_row(addresses: Addresses, row: Iterable[Any]) -> Hold:
    """Of HOLD_COLUMNS."""
    (
        organization_id,
        id_,
        session_id,
        reference,
        customer_email,
        user_id,
        currency,
        status,
        version,
        created_at,
        updated_at,
        held_at,
        expires_at,
        confirmed_at,
        cancelled_at,
        expired_at,
        source,
        cart_token,
        notes,
        metadata,
        warn_at,
        checkout_id,
        order_id,
        revives,
        is_cart,
        extensions,
        given_up_at,
        waiting,
        lines,
    ) = row
    return Hold(
        organization_id=OrganizationId(organization_id),
        id=HoldId(id_),
        session_id=SessionId(session_id),
        reference=reference,
        holder=Holder(addresses.opened(organization_id, customer_email), user_id),
        currency=currency,
        status=HoldStatus(status),
        version=version,
        created_at=created_at,
        updated_at=updated_at,
        held_at=held_at,
        expires_at=expires_at,
        confirmed_at=confirmed_at,
        cancelled_at=cancelled_at,
        expired_at=expired_at,
        remarks=_remarks(source, cart_token, notes, metadata),
        warn_at=warn_at,
        checkout_id=checkout_id,
        order_id=order_id,
        revives=revives,
        is_cart=is_cart,
        extensions=extensions,
        given_up_at=given_up_at,
        waiting=None if waiting is None else _place_from_json(*waiting),
        lines=tuple(_line_from_json(line) for line in lines or ()),
    )


def _place_from_json(line_id: str, since: str, passes_seen: int) -> WaitingPlace:
    return WaitingPlace(UUID(line_id), datetime.fromisoformat(since), passes_seen)


def _remarks(
    source: str, cart_token: str | None, notes: str | None, metadata: dict[str, str]
) -> Remarks:
    if source == NO_REMARKS.source and cart_token is None and notes is None and not metadata:
        return NO_REMARKS
    return Remarks(Source(source), cart_token, notes, metadata_of(metadata))


def _line_from_json(line: Sequence[Any]) -> Line:
    *ask, pool_ids, seat, item, wish = line
    plain = _plain_line(*ask, tuple(pool_ids))
    if seat is None and item is None and wish is None:
        return plain
    return replace(
        plain,
        seat=None if seat is None else line_seat(*seat),
        item=None if item is None else _item_from_json(*item),
        wish=None if wish is None else _wish_from_json(*wish),
    )


def _item_from_json(item_id: str, group_id: str) -> CartItem:
    return CartItem(item_id, UUID(group_id))


def _wish_from_json(block_id: str | None, *kind: Any) -> SeatWish:
    return SeatWish(None if block_id is None else BlockId(UUID(block_id)), *kind)


@lru_cache(maxsize=4096)
def _plain_line(
    ticket_type_id: str,
    quantity: int,
    unit_price_minor: int,
    number: int,
    pool_ids: tuple[str, ...],
) -> Line:
    """Cached, because most lines of a sale are alike: parsing the same ids took half of the time of
    reading a hold."""
    return Line(
        TicketTypeId(UUID(ticket_type_id)),
        quantity,
        unit_price_minor,
        tuple(PoolId(UUID(pool_id)) for pool_id in pool_ids),
        number=number,
    )


def line_seat(seat_id: str, block_id: str, block_name: str, row: str, *numbered: Any) -> LineSeat:
    return LineSeat(SeatId(UUID(seat_id)), BlockId(UUID(block_id)), block_name, row, *numbered)


NEW_HOLD = ColumnList(
    "organization_id uuid, id uuid, session_id uuid, reference text, customer_email bytea,"
    " email_key uuid, user_id text, quantity integer, total_minor bigint, currency text,"
    " expires_at timestamptz, due_at timestamptz, warn_at timestamptz, source text,"
    " cart_token text, notes text, checkout_id uuid, revives uuid, status text, is_cart boolean,"
    " held_at timestamptz, metadata jsonb"
)


def new_hold_row(addresses: Addresses, hold: Hold) -> Row:
    return (
        hold.organization_id,
        hold.id,
        hold.session_id,
        hold.reference,
        *addresses.stored(hold.organization_id, hold.holder.email),
        hold.holder.user_id,
        hold.quantity,
        hold.total_minor,
        hold.currency,
        hold.expires_at,
        hold.due_at,
        hold.warn_at,
        hold.remarks.source.value,
        hold.remarks.cart_token,
        hold.remarks.notes,
        hold.checkout_id,
        hold.revives,
        hold.status.value,
        hold.is_cart,
        hold.held_at,
        "{}" if hold.remarks is NO_REMARKS else metadata_json(hold.remarks.metadata),
    )


# Apart from its contents.
CHANGED_HOLD = ColumnList(
    "organization_id uuid, id uuid, status text, version integer, updated_at timestamptz,"
    " expires_at timestamptz, due_at timestamptz, warn_at timestamptz, confirmed_at timestamptz,"
    " cancelled_at timestamptz, expired_at timestamptz, checkout_id uuid, order_id uuid,"
    " extensions smallint, given_up_at timestamptz"
)
changed_hold_row = attrgetter(*CHANGED_HOLD)

_CONTENTS = (
    "organization_id uuid, id uuid, quantity integer, total_minor bigint, held_at timestamptz,"
    " metadata jsonb"
)
_ADDRESS = "customer_email bytea, email_key uuid"
HOLD_CONTENTS = ColumnList(_CONTENTS)
# A hold can get another address, but not lose it: one that is not readable stays as it is.
HOLD_ADDRESS = ColumnList(_ADDRESS)
CONTENTS_AND_ADDRESS = ColumnList(f"{_CONTENTS}, {_ADDRESS}")


def contents_row(addresses: Addresses, hold: Hold) -> Row:
    """Of CONTENTS_AND_ADDRESS."""
    email = hold.holder.email
    return (
        hold.organization_id,
        hold.id,
        hold.quantity,
        hold.total_minor,
        hold.held_at,
        metadata_json(hold.remarks.metadata),
        *addresses.stored(hold.organization_id, email if email and email.is_readable else None),
    )


_LINE = (
    "organization_id uuid, hold_id uuid, position integer, ticket_type_id uuid, quantity integer,"
    " unit_price_minor bigint, pool_ids text::uuid[], seat_id uuid"
)
# Most lines belong to a new hold without a cart, and need no other columns.
NEW_LINE = ColumnList(_LINE)
NEW_LINE_WITH_MORE = ColumnList(
    f"{_LINE}, added_version integer, cart_item_id text, group_id uuid, wish_block_id uuid,"
    " wish_accessible smallint, wish_is_together boolean, wish_price_minor bigint"
)


def line_row(hold: Hold, line: Line) -> Row:
    return (
        hold.organization_id,
        hold.id,
        line.number,
        line.ticket_type_id,
        line.quantity,
        line.unit_price_minor,
        ids_array(line.pool_ids),
        line.seat.id if line.seat else None,
    )


def line_row_with_more(hold: Hold, line: Line) -> Row:
    """With the columns for lines of carts, lines added later, and lines that wait for seats."""
    item, wish = line.item, line.wish
    return (
        *line_row(hold, line),
        hold.version,
        item.id if item else None,
        item.group_id if item else None,
        wish.block_id if wish else None,
        wish.accessible if wish else None,
        wish.is_together if wish else None,
        wish.unit_price_minor if wish else None,
    )
