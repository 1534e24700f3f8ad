"""The lines of a hold: those that it has, and those that it had."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.admin.looking import (
    amount,
    name_of,
    seat_link,
    seat_name,
    table,
    wrapped,
)
from holdfast.adapters.postgres.models import Block, Hold, HoldLine

_HEADERS = ("Ticket type", "Seat", "Quantity", "Unit price", "Total")
# Of the id of a call, which only tells lines that came together from others.
_GROUP_LENGTH = 8


def lines_table(hold: Hold, *, is_removed: bool) -> SafeString | str:
    """Nothing where there are none."""
    own = {"organization_id": hold.organization_id, "hold_id": hold.id}
    rows = HoldLine.objects.filter(**own, removed_version__isnull=not is_removed)
    named = rows.annotate(
        seat_name=seat_name(), wished_block=name_of(Block.objects.all(), "wish_block_id")
    )
    lines = list(named.select_related("ticket_type").order_by("position"))
    if not lines:
        return ""
    headers = [*_HEADERS]
    if hold.is_cart:
        headers += ["Cart item", "Came with"]
    if is_removed:
        headers.append("Versions")
    return table(headers, (_cells(hold, line) for line in lines))


def _cells(hold: Hold, line: HoldLine) -> list[object]:
    cells: list[object] = [
        line.ticket_type.name,
        seat_link(line) if line.seat_id or line.wish_accessible is None else _wish(line),
        line.quantity,
        amount(line.unit_price_minor, hold.currency),
        amount(line.quantity * line.unit_price_minor, hold.currency),
    ]
    if hold.is_cart:
        group = "-" if line.group_id is None else str(line.group_id)[-_GROUP_LENGTH:]
        cells += [wrapped(line.cart_item_id or "-"), group]
    if line.removed_version is not None:
        last = line.removed_version - 1
        same = line.added_version == last
        cells.append(str(last) if same else f"{line.added_version} to {last}")
    return cells


def _wish(line: HoldLine) -> SafeString:
    """What kind of seats it waits for."""
    where = getattr(line, "wished_block", None) or "any block"
    together = ", together" if line.wish_is_together else ""
    accessible = f", {line.wish_accessible} accessible" if line.wish_accessible else ""
    return format_html("waits: {}{}{}", where, together, accessible)
