"""What keeps a party from being served, in words."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from holdfast.domain.immutable import immutable
from holdfast.domain.waitlist.obstacles import Explanation, Obstacle, Shortage
from holdfast.domain.waitlist.queues import PROMOTIONS_MAX
from holdfast.entrypoints.admin.display import shown_time

NOT_LOOKED_AT = "Further back in its queue than had to be looked at."

_WORDS: Mapping[Obstacle, str] = {
    Obstacle.EVENT_CANCELLED: "The event or this session was cancelled. The waitlist ends.",
    Obstacle.EVENT_ARCHIVED: "The event was archived. The waitlist ends.",
    Obstacle.SALE_ENDED: "The sale has ended. The waitlist ends.",
    Obstacle.SESSION_STARTED: "The session has started. The waitlist ends.",
    Obstacle.EVENT_NOT_ON_SALE: "The event is not on sale.",
    Obstacle.TIME_IS_UP: "Its time on the waitlist is over. It expires.",
    Obstacle.SEATS_SOLD: "Too few seats of this kind are unsold. Those behind it go first.",
    Obstacle.NOT_ITS_TURN: "The free places are kept for parties who joined earlier.",
    Obstacle.BEHIND_FIRST: "Waits behind the first party of its queue.",
    Obstacle.NEXT_BATCH: f"It will be served soon: {PROMOTIONS_MAX} parties are served at a time.",
    Obstacle.LOCKED: "Somebody is changing its places at this moment.",
}


@immutable
class Context:
    """What the words refer to: the names of pools, blocks and ticket types, when the sale opens,
    and when the promoter last ran, unless it is running."""

    names: Mapping[UUID, str]
    opens_at: datetime | None = None
    promoter_stopped_at: datetime | None = None


def words(explanation: Explanation | None, context: Context) -> str:
    if explanation is None:
        return _unblocked(context)
    obstacle = explanation.obstacle
    match obstacle:
        case Obstacle.SALE_NOT_OPEN if context.opens_at is not None:
            return f"The sale is paused until {shown_time(context.opens_at)} UTC."
        case Obstacle.SALE_NOT_OPEN:
            return "The sale is not open."
        case Obstacle.NOT_OFFERED if explanation.ticket_type_id is not None:
            name = context.names.get(explanation.ticket_type_id, "?")
            return f"Ticket type {name} is no longer on sale. Those behind it go first."
        case Obstacle.TOO_FEW_PLACES:
            return _short(explanation.shortages, context)
        case Obstacle.TOO_MUCH_SOLD:
            return _sold(explanation.shortages, context)
        case Obstacle.TOO_FEW_SEATS:
            return _seats(explanation, context)
        case _:
            return _WORDS[obstacle]


def _unblocked(context: Context) -> str:
    stopped_at = context.promoter_stopped_at
    if stopped_at is None:
        return "Nothing blocks it: it is served within half a minute."
    since = f"the promoter has not run since {shown_time(stopped_at)} UTC"
    return f"Nothing blocks it: {since}."


def _short(shortages: tuple[Shortage, ...], context: Context) -> str:
    if not shortages:
        return "Too few places are free."
    parts = [
        f"{each.available} {_are(each.available)} free in {context.names.get(each.pool_id, '?')}"
        if each.available
        else f"{context.names.get(each.pool_id, '?')} is full"
        for each in shortages
    ]
    return f"Needs {_tickets(shortages)}; {', and '.join(parts)}."


def _sold(shortages: tuple[Shortage, ...], context: Context) -> str:
    parts = [
        f"only {each.available} of {context.names.get(each.pool_id, '?')} {_are(each.available)}"
        " unsold"
        for each in shortages
    ]
    return f"Needs {_tickets(shortages)}; {', and '.join(parts)}. Those behind it go first."


def _seats(explanation: Explanation, context: Context) -> str:
    found = explanation.seats
    if found is None or not found.requested:
        return "Too few seats are free."
    if found.full_block is not None:
        return f"Block {context.names.get(found.full_block, '?')} has no capacity left."
    if found.kind == "seats side by side":
        longest = f"at most {found.available}" if found.available > 1 else "none"
        return f"Not enough seats together: needs {found.requested}, {longest} next to each other."
    return f"Needs {found.requested} {found.kind}; {found.available} {_are(found.available)} free."


def _tickets(shortages: tuple[Shortage, ...]) -> str:
    needed = max((each.needed for each in shortages), default=0)
    return "1 ticket" if needed == 1 else f"{needed:,} tickets"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
