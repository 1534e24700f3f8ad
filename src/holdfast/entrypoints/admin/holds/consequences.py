"""What an action on a hold would do, in words, before the person confirms it."""

from collections import Counter
from typing import Any

from django.db.models import OuterRef, Subquery
from django.utils import timezone
from django.utils.text import get_text_list

from holdfast.adapters.postgres.models import HoldLine, Seat, WaitingLine
from holdfast.domain.catalog.model import EventStatus, SaleTerms, SessionStatus
from holdfast.domain.group.transitions import FactType
from holdfast.entrypoints.admin.display import amount, redacted, shown_time
from holdfast.entrypoints.admin.mails.consequences import buyer_told
from holdfast.entrypoints.admin.waitlist.positions import shown_positions


def extension(hold: Any) -> str:
    return _sentences(
        f"Keeps {places(hold)} for {holder(hold)} beyond {shown_time(hold.expires_at)} UTC, even"
        " beyond the limits of the policy.",
        "Nobody else can have them meanwhile.",
        buyer_told(hold, FactType.HOLD_EXTENDED),
    )


def release(hold: Any) -> str:
    return _sentences(
        f"Frees {places(hold)} immediately.", _next(hold), buyer_told(hold, FactType.HOLD_CANCELLED)
    )


def removal(hold: Any) -> str:
    position = shown_positions([hold]).get((hold.organization_id, hold.id), "-")
    return _sentences(
        f"Takes {holder(hold)} off the waitlist, now at position {position} for {places(hold)}.",
        "This cannot be undone: joining again means joining at the end.",
        buyer_told(hold, FactType.HOLD_CANCELLED),
    )


def expiry(hold: Any) -> str:
    return _sentences(
        f"Frees {places(hold)} immediately, as if the time were up.",
        _next(hold),
        "The buyer can ask for the same again, and may still pay late if the policy allows it.",
        buyer_told(hold, FactType.HOLD_EXPIRED),
    )


def payment(hold: Any) -> str:
    tickets = _counted(hold.quantity, "ticket")
    it = "it" if hold.quantity == 1 else "them"
    return _sentences(
        f"Sells {tickets} for {amount(hold.total_minor, hold.currency)} to {holder(hold)}:"
        f" {places(hold)}.",
        "Makes the order at once. Holdfast takes no money: take the payment first.",
        buyer_told(hold, FactType.ORDER_CONFIRMED),
        f"To take {it} back, cancel the order.",
    )


def move(hold: Any) -> str:
    total = amount(hold.total_minor, hold.currency)
    return _sentences(
        "Exchanges the seats that you choose for others in one step, or changes nothing.",
        "The old seats are free immediately.",
        _next(hold, frees_pools=False),
        f"The total stays {total}, and the hold still ends at {shown_time(hold.expires_at)} UTC.",
        buyer_told(hold, FactType.HOLD_CHANGED),
    )


def places(hold: Any) -> str:
    """For example `2 seats in Parterre and 3 tickets (Standing)`."""
    own = {"organization_id": hold.organization_id, "hold_id": hold.id}
    lines: Any = HoldLine.objects.filter(**own, removed_version=None).order_by("position")
    block = Subquery(
        Seat.objects.filter(
            organization_id=OuterRef("organization_id"), id=OuterRef("seat_id")
        ).values("block__name")
    )
    found = Counter[tuple[str | None, str]]()
    for in_block, ticket_type, quantity in lines.annotate(in_block=block).values_list(
        "in_block", "ticket_type__name", "quantity"
    ):
        found[in_block, "" if in_block else ticket_type] += quantity
    return get_text_list(
        [
            f"{_counted(quantity, 'seat')} in {in_block}"
            if in_block
            else f"{_counted(quantity, 'ticket')} ({ticket_type})"
            for (in_block, ticket_type), quantity in found.items()
        ],
        "and",
    )


def holder(hold: Any) -> str:
    """The holder, with the address redacted."""
    return redacted(hold.email or hold.user_id)


def _next(hold: Any, *, frees_pools: bool = True) -> str:
    """Who can have the places afterwards."""
    session, now = hold.session, timezone.now()
    event, status = session.event, EventStatus(session.event.status)
    sale = SaleTerms(status, event.sale_starts_at, event.sale_ends_at)
    if session.status == SessionStatus.CANCELLED or sale.is_over(now):
        return "The sale is over, so nobody else can buy them."
    if not status.is_on_sale:
        return "They can be bought once the event is published."
    later = "" if sale.is_within_window(now) else " once the sale opens"
    if session.starts_at is not None and session.starts_at <= now:
        return f"They go back on sale{later}."  # its waitlist has ended
    if _are_wanted(hold, frees_pools=frees_pools):
        return f"Parties on the waitlist who want them come first{later}, in their order."
    return f"Nobody is on the waitlist for them, so they go back on sale{later}."


def _are_wanted(hold: Any, *, frees_pools: bool) -> bool:
    """Whether a queue of the waitlist is for one of its blocks or pools."""
    own = {"organization_id": hold.organization_id}
    lines: Any = HoldLine.objects.filter(**own, hold_id=hold.id, removed_version=None)
    seats = [seat_id for seat_id in lines.values_list("seat_id", flat=True) if seat_id]
    freed = set(Seat.objects.filter(**own, id__in=seats).values_list("block_id", flat=True))
    if frees_pools:
        freed.update(*lines.values_list("pool_ids", flat=True))
    queues = WaitingLine.objects.filter(**own, session_id=hold.session_id)
    return bool(queues.filter(wants__overlap=list(freed), waiting__gt=0).exists())


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _sentences(*parts: str) -> str:
    return " ".join(parts)
