"""Creates new holds, active and waiting ones, and their lines."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.holds.hold import (
    CartItem,
    Hold,
    HoldStatus,
    Line,
    LineSeat,
    SeatWish,
    WaitingPlace,
    end_of_hold,
    rounded_up,
    warning_time,
)
from holdfast.domain.holds.placement import Ask, Placement, SeatAsk
from holdfast.domain.ids import SeatId, TicketTypeId
from holdfast.domain.seats.seat import SeatPlace
from holdfast.domain.seats.seat_choice import Picked
from holdfast.domain.values import Quantity

# Without 0/O and 1/I/L, which are easily confused.
REFERENCE_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
_REFERENCE_BASE = len(REFERENCE_LETTERS)
_REFERENCE_LENGTH_MIN = 6
# Any multiplier coprime to the base permutes the space.
_MULTIPLIER = 618_033_989
_OFFSET = 271_828_183


class Part(NamedTuple):
    """An ask of a command, with its index there and the cart item it is for."""

    position: int
    ask: Ask | SeatAsk
    item: CartItem | None = None


def with_quantity(ask: Ask, quantity: int) -> Ask:
    """The same ask for exactly this quantity, with `accessible` capped at it."""
    accessible = min(ask.accessible, quantity)
    return replace(ask, quantity=Quantity(quantity), at_least=None, accessible=accessible)


def parts_of(command: Placement) -> list[Part]:
    items = command.items or (None,) * len(command.asks)
    return [Part(number, ask, items[number]) for number, ask in enumerate(command.asks)]


def make_lines(
    ledger: Ledger, session: SessionCatalog, parts: Sequence[Part], picked: Picked
) -> list[Line]:
    lines: list[Line] = []
    for position, ask, item in parts:
        seats = picked.seats.get(position)
        if seats is not None:
            if isinstance(ask, Ask):
                seats = _trimmed_seats(ledger, seats, ask)
            price, locked = ask.unit_price_minor, ledger.seats
            lines += [
                seat_line(session, locked[seat_id].place, picked.type_of[seat_id], price, item)
                for seat_id in seats
            ]
        elif isinstance(ask, Ask):
            lines.append(plain_line(session, ask, item))
    return lines


def _trimmed_seats(ledger: Ledger, seats: tuple[SeatId, ...], ask: Ask) -> tuple[SeatId, ...]:
    """Trim the seats to the ask's quantity, which the pools may have reduced: to adjacent ones if
    these include the accessible seats requested, or if the ask requires it."""
    count = int(ask.quantity)
    if len(seats) <= count:
        return seats
    accessible = {seat_id for seat_id in seats if ledger.seats[seat_id].place.is_accessible}
    wanted = min(ask.accessible, count, len(accessible))
    windows = [seats[start : start + count] for start in range(len(seats) - count + 1)]
    best = max(windows, key=lambda window: min(wanted, len(accessible.intersection(window))))
    if ask.is_together or len(accessible.intersection(best)) >= wanted:
        return best
    first = [seat_id for seat_id in seats if seat_id in accessible][:wanted]
    others = [seat_id for seat_id in seats if seat_id not in first]
    kept = {*first, *others[: count - wanted]}
    return tuple(seat_id for seat_id in seats if seat_id in kept)


def plain_line(session: SessionCatalog, ask: Ask, item: CartItem | None = None) -> Line:
    offer = session.offers[ask.ticket_type_id]
    given = ask.unit_price_minor
    price = offer.price.minor if given is None else given
    return Line(ask.ticket_type_id, int(ask.quantity), price, offer.pool_ids, item=item)


def waiting_line(session: SessionCatalog, ask: Ask, item: CartItem | None = None) -> Line:
    """The line of a waiting hold, for `at_least` if that is set. Unless the platform named a price,
    the price is provisional until the seat is known."""
    offer = session.offers[ask.ticket_type_id]
    if ask.at_least:
        ask = with_quantity(ask, ask.at_least)
    line = plain_line(session, ask, item)
    if not offer.is_seated:
        return line
    price = line.unit_price_minor
    if ask.unit_price_minor is None and ask.block_id is not None:
        price = session.price_in(ask.block_id, ask.ticket_type_id)
    wish = SeatWish(ask.block_id, ask.accessible, ask.is_together, ask.unit_price_minor)
    return Line(ask.ticket_type_id, line.quantity, price, offer.pool_ids, item=item, wish=wish)


def seat_line(
    session: SessionCatalog,
    place: SeatPlace,
    ticket_type_id: TicketTypeId,
    given_price: int | None,
    item: CartItem | None,
) -> Line:
    """A seat sold as this ticket type, at the platform's price if it named one."""
    block = session.blocks[place.block_id]
    pools = session.offers[ticket_type_id].pool_ids
    if block.capacity_pool_id is not None and block.capacity_pool_id not in pools:
        pools = (*pools, block.capacity_pool_id)
    price = session.price_in(place.block_id, ticket_type_id) if given_price is None else given_price
    seat = LineSeat(
        place.id,
        place.block_id,
        block.name,
        place.row,
        place.number,
        place.position,
        place.is_accessible,
    )
    return Line(ticket_type_id, 1, price, pools, seat, item=item)


def placed_hold(
    ledger: Ledger, session: SessionCatalog, command: Placement, lines: tuple[Line, ...]
) -> Hold:
    # With several ticket types, the shortest time to live wins.
    policies = [session.offers[line.ticket_type_id].policy for line in lines]
    ttl_seconds = min([policy.ttl_seconds for policy in policies])
    expires_at = end_of_hold(ledger.now, ttl_seconds)
    warning_seconds = max([policy.warning_seconds for policy in policies])
    warn_at = warning_time(ledger.now, expires_at, warning_seconds)
    return _hold(ledger, session, command, lines, expires_at, warn_at=warn_at)


def waiting_hold(
    ledger: Ledger,
    session: SessionCatalog,
    command: Placement,
    lines: tuple[Line, ...],
    place: WaitingPlace,
) -> Hold:
    """A hold that waits for the shortest time its policies allow, at most until sales end. The
    session may be postponed; its start ends the waitlist anyway."""
    seconds = min([session.offers[line.ticket_type_id].policy.waiting_seconds for line in lines])
    until = end_of_hold(ledger.now, seconds)
    if session.sale.ends_at is not None:
        until = max(min(until, rounded_up(session.sale.ends_at)), end_of_hold(ledger.now, 1))
    return _hold(ledger, session, command, lines, until, waiting=place)


def _hold(
    ledger: Ledger,
    session: SessionCatalog,
    command: Placement,
    lines: tuple[Line, ...],
    expires_at: datetime,
    *,
    warn_at: datetime | None = None,
    waiting: WaitingPlace | None = None,
) -> Hold:
    return Hold(
        organization_id=command.organization_id,
        id=command.hold_id,
        session_id=command.session_id,
        reference=ledger.references[command.hold_key],
        holder=command.holder,
        lines=lines,
        currency=session.currency,
        status=HoldStatus.ACTIVE if waiting is None else HoldStatus.WAITING,
        version=1,
        created_at=ledger.now,
        updated_at=ledger.now,
        held_at=ledger.now if waiting is None else None,
        expires_at=expires_at,
        remarks=command.remarks,
        warn_at=warn_at,
        revives=command.renews,
        is_cart=command.is_cart,
        waiting=waiting,
    )


def reference_of(number: int) -> str:
    """The reference that people read out over the phone, such as `K7M2QX`, for a counter value: it
    never collides, and needs no lookup. Modular arithmetic scatters neighbours. It identifies a
    hold but authorizes nothing. It gets one more letter when a length is used up."""
    assert number >= 0
    length = _REFERENCE_LENGTH_MIN
    while number >= _REFERENCE_BASE**length:
        number -= _REFERENCE_BASE**length
        length += 1
    scattered = (number * _MULTIPLIER + _OFFSET) % _REFERENCE_BASE**length
    letters = []
    for _ in range(length):
        scattered, digit = divmod(scattered, _REFERENCE_BASE)
        letters.append(REFERENCE_LETTERS[digit])
    return "".join(reversed(letters))
