"""A buyer's selection for an event, and the holds in it that expired."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from holdfast.domain.holds.hold import Hold


def lost_of_selection(live: Sequence[Hold], recent: Sequence[Hold], now: datetime) -> list[Hold]:
    """The holds that lapsed after the oldest live hold got its places, and that the buyer has not
    chosen again. Without live holds, the newest hold counts instead. `recent` are the buyer's
    holds for the event in any state.

    Recorded or not, a lapse counts. Sooner or later every live hold is younger than the lapse, so
    no expired hold is in the way forever."""
    if not recent:
        return []
    start = min(map(_begun_at, live), default=max(map(_begun_at, recent)))
    paid_late = {hold.revives for hold in recent}
    return [
        hold
        for hold in recent
        if hold.is_expired(now)
        and hold.held_at is not None  # a waiting hold had no places to lose
        and hold.expires_at > start
        and hold.id not in paid_late
        and not _is_chosen_again(hold, recent)
    ]


def _is_chosen_again(lost: Hold, recent: Iterable[Hold]) -> bool:
    """Whether the same cart, or the same seats and ticket types, were held again."""
    since = [hold for hold in recent if _begun_at(hold) >= lost.expires_at]
    if lost.cart is not None:
        return any(hold.cart == lost.cart for hold in since)
    chosen = {choice for hold in since for choice in _choices(hold)}
    return _choices(lost) <= chosen


def _choices(hold: Hold) -> set[UUID]:
    return {line.seat.id if line.seat else line.ticket_type_id for line in hold.lines}


def _begun_at(hold: Hold) -> datetime:
    return hold.held_at or hold.created_at
