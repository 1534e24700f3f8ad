"""Computes the difference between a cart's items and its hold.

Kept tickets keep their price; new ones get today's. The newest tickets are given up first, but
never an accessible place that is still asked for.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from holdfast.domain.holds.hold import CART_ITEM_ID_LENGTH_MAX, CartItem, Hold, Line, SeatWish
from holdfast.domain.holds.placement import Ask, SeatAsk
from holdfast.domain.ids import SeatId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.values import InvalidValue, Quantity


@immutable
class CartAsk:
    """An item of a cart and its ask."""

    item_id: str
    ask: Ask | SeatAsk

    def __post_init__(self) -> None:
        if not (1 <= len(self.item_id) <= CART_ITEM_ID_LENGTH_MAX and self.item_id.isprintable()):
            raise InvalidValue(
                "invalid_cart_item_id",
                f"cart_item_id must be 1 to {CART_ITEM_ID_LENGTH_MAX} printable characters",
            )


@dataclass(slots=True)
class Difference:
    """`kept` lines are unchanged, `reduced` ones replace old lines, `parts` are to be added.
    `given_up` seats come with the item that had them."""

    kept: list[Line] = field(default_factory=list)
    reduced: list[Line] = field(default_factory=list)
    parts: list[tuple[Ask | SeatAsk, CartItem]] = field(default_factory=list)
    given_up: tuple[tuple[SeatId, str], ...] = ()


def difference(lines: Sequence[Line], asks: Iterable[CartAsk], group_id: UUID) -> Difference:
    found = Difference()
    asks = list(asks)
    named = {seat for each in asks if isinstance(each.ask, SeatAsk) for seat in each.ask.seat_ids}
    by_item: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        # A named seat belongs to the item that names it, whichever had it before.
        if line.item is not None and not (line.seat is not None and line.seat.id in named):
            by_item[line.item.id].append(line)
    for each in asks:
        item = CartItem(each.item_id, group_id)
        if isinstance(each.ask, SeatAsk):
            _seats(found, lines, each.ask, item)
        else:
            _quantity(found, by_item[each.item_id], each.ask, item)
    stays = {line.seat.id for line in (*found.kept, *found.reduced) if line.seat is not None}
    found.given_up = tuple(
        (line.seat.id, line.item.id)
        for line in lines
        if line.seat is not None and line.item is not None and line.seat.id not in stays
    )
    return found


def _seats(found: Difference, lines: Sequence[Line], ask: SeatAsk, item: CartItem) -> None:
    """Keep named seats that the cart already has, even from another item; add the others."""
    has = set[SeatId]()
    for line in lines:
        if (
            line.seat is not None
            and line.seat.id in ask.seat_ids
            and ask.ticket_type_id in {None, line.ticket_type_id}
            and ask.unit_price_minor in {None, line.unit_price_minor}
        ):
            has.add(line.seat.id)
            is_its_own = line.item is not None and line.item.id == item.id
            if is_its_own:
                found.kept.append(line)
            else:
                found.reduced.append(replace(line, item=item))
    missing = tuple(seat_id for seat_id in ask.seat_ids if seat_id not in has)
    if missing:
        found.parts.append((replace(ask, seat_ids=missing), item))


def _quantity(found: Difference, lines: Sequence[Line], ask: Ask, item: CartItem) -> None:
    """Keep up to the quantity, and leave room for accessible places that are missing."""
    lines = [line for line in lines if _serves(line, ask)]
    accessible = [line for line in lines if _is_accessible(line)][: ask.accessible]
    missing = min(ask.accessible, ask.quantity) - len(accessible)
    found.kept += accessible
    left = ask.quantity - len(accessible) - missing
    for line in lines:
        if not left or any(line is each for each in accessible):
            continue
        if line.quantity <= left:
            found.kept.append(line)
            left -= line.quantity
        else:
            found.reduced.append(replace(line, quantity=left, item=item))
            left = 0
    more = rest_of(ask, ask.quantity - left - missing, len(accessible))
    if more is not None:
        found.parts.append((more, item))


def rest_of(ask: Ask, has: int, accessible: int) -> Ask | None:
    """The rest of the ask once it has this many places, of which some are accessible."""
    left = ask.quantity - has
    if not left:
        return None
    missing = max(0, min(ask.accessible, ask.quantity) - accessible)
    least = None
    if ask.at_least is not None:
        # Once regular places are kept, the missing accessible ones are required.
        needed = missing if has > accessible else 0
        least = max(needed, ask.at_least - has)
    return replace(ask, quantity=Quantity(left), at_least=least, accessible=missing)


def _is_accessible(line: Line) -> bool:
    return line.seat is not None and line.seat.is_accessible


def _serves(line: Line, ask: Ask) -> bool:
    return (
        line.ticket_type_id == ask.ticket_type_id
        and ask.unit_price_minor in {None, line.unit_price_minor}
        and (ask.block_id is None or line.seat is None or line.seat.block_id == ask.block_id)
    )


def acquired(
    before: Iterable[Line], after: Iterable[Line], parts: Iterable[Ask | SeatAsk] = ()
) -> int:
    """How many tickets are new in a hold, with `parts` to come: each new seat, and each additional
    ticket of a type. Tickets that the hold gives up are not deducted."""
    seats, had = set[SeatId](), set[SeatId]()
    growth = Counter[TicketTypeId]()
    for lines, found, sign in ((before, had, -1), (after, seats, 1)):
        for line in lines:
            if line.seat is None:
                growth[line.ticket_type_id] += sign * line.quantity
            else:
                found.add(line.seat.id)
    for part in parts:
        if isinstance(part, SeatAsk):
            seats.update(part.seat_ids)
        else:
            growth[part.ticket_type_id] += part.quantity
    return len(seats - had) + (+growth).total()


def joined_lines(lines: Iterable[Line]) -> list[Line]:
    """Merge lines of one item that differ only in quantity."""
    alike: dict[tuple[object, ...], list[Line]] = {}
    for position, line in enumerate(lines):
        is_alone = line.seat is not None or line.item is None
        alike.setdefault((position,) if is_alone else _merge_key(line), []).append(line)
    return [
        group[0]
        if len(group) == 1
        else replace(group[-1], quantity=sum(line.quantity for line in group))
        for group in alike.values()
    ]


def _merge_key(line: Line) -> tuple[object, ...]:
    assert line.item is not None
    return (line.item.id, line.ticket_type_id, line.unit_price_minor, line.pool_ids)


def asks_again(hold: Hold) -> list[CartAsk]:
    """The asks to get the same again at today's prices: the same seats, or any that match if the
    hold was still waiting."""
    by_item: defaultdict[str, list[Line]] = defaultdict(list)
    for line in hold.lines:
        by_item[line.item.id if line.item else ""].append(line)
    return [CartAsk(item_id or "-", _ask_again(lines)) for item_id, lines in by_item.items()]


def _ask_again(lines: Sequence[Line]) -> Ask | SeatAsk:
    """An item is one ask: for specific seats or for a quantity of a type."""
    first = lines[0]
    seats = tuple(line.seat.id for line in lines if line.seat is not None)
    if seats:
        types = {line.ticket_type_id for line in lines}
        return SeatAsk(seats, first.ticket_type_id if len(types) == 1 else None)
    wish = first.wish or _NO_WISH
    return Ask(
        first.ticket_type_id,
        Quantity(sum(line.quantity for line in lines)),
        wish.unit_price_minor,
        wish.block_id,
        wish.accessible,
        wish.is_together,
    )


_NO_WISH = SeatWish()
