"""The current and earlier lines of a hold."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from holdfast.adapters.postgres.models import Block, Hold, HoldLine
from holdfast.entrypoints.admin.display import amount, seat_link, table, wrapped
from holdfast.entrypoints.admin.lookups import name_of, seat_name

# Enough of a call's id to see which lines it added together.
_GROUP_LENGTH = 8
# Fits into two rows of text on a phone.
_ITEM_LENGTH_MAX = 40


def lines_table(hold: Hold) -> SafeString:
    headers = ["Ticket type", "Seat", "Quantity", "Unit price", "Total"]
    if hold.is_cart:
        headers += ["Cart item", "Added with"]
    return table(headers, _rows(hold))


def has_former_lines(hold: Hold) -> bool:
    return bool(_lines(hold).filter(removed_version__isnull=False).exists())


def former_lines_table(hold: Hold) -> SafeString | str:
    """The lines that were removed or replaced, and the hold versions that had them."""
    lines = list(_lines(hold).filter(removed_version__isnull=False))
    if not lines:
        return "-"
    return table(
        ("Ticket type", "Seat", "Quantity", "Unit price", "Cart item", "Versions"),
        (
            (
                line.ticket_type.name,
                _seat(line),
                line.quantity,
                amount(line.unit_price_minor, hold.currency),
                _item(line),
                _versions(line.added_version, line.removed_version - 1),
            )
            for line in lines
        ),
    )


def _lines(hold: Hold) -> QuerySet[Any]:
    own = {"organization_id": hold.organization_id, "hold_id": hold.id}
    names = {
        "seat_name": seat_name(),
        "wished_block": name_of(Block.objects.all(), "wish_block_id"),
    }
    rows: QuerySet[Any] = HoldLine.objects.filter(**own).annotate(**names)
    return rows.select_related("ticket_type").order_by("position")


def _rows(hold: Hold) -> Iterable[list[object]]:
    for line in _lines(hold).filter(removed_version__isnull=True):
        cells: list[object] = [
            line.ticket_type.name,
            _seat(line),
            line.quantity,
            amount(line.unit_price_minor, hold.currency),
            amount(line.quantity * line.unit_price_minor, hold.currency),
        ]
        if hold.is_cart:
            group = "-" if line.group_id is None else str(line.group_id)[-_GROUP_LENGTH:]
            cells += [_item(line), group]
        yield cells


def _item(line: Any) -> SafeString:
    return wrapped(Truncator(line.cart_item_id or "-").chars(_ITEM_LENGTH_MAX))


def _seat(line: Any) -> SafeString | str:
    """The seat, or the kind of seats it waits for."""
    if line.wish_accessible is None:
        return seat_link(line)
    together = ", together" if line.wish_is_together else ""
    accessible = f", {line.wish_accessible} accessible" if line.wish_accessible else ""
    return f"waiting for: {line.wished_block or 'any block'}{together}{accessible}"


def _versions(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"
