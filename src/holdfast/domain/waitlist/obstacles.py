"""Why a party on the waitlist is not served. Promotion itself names the obstacle, so an explanation
never differs from what promotion does."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from holdfast.domain.catalog.model import EventStatus, SessionCatalog
from holdfast.domain.group.footprint import Proposal
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.transitions import units_by_pool
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId, PoolId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.seats.proposals import propose
from holdfast.domain.waitlist.queues import blocks_for
from holdfast.domain.waitlist.seating import seat_asks, waitlist_scope


class Obstacle(StrEnum):
    # Nobody in the session is served, and the waitlist ends.
    EVENT_CANCELLED = "event_cancelled"
    EVENT_ARCHIVED = "event_archived"
    SALE_ENDED = "sale_ended"
    SESSION_STARTED = "session_started"
    # Nobody in the session is served for now.
    EVENT_NOT_ON_SALE = "event_not_on_sale"
    SALE_NOT_OPEN = "sale_not_open"
    # The party cannot be served at all, and holds nobody up.
    TIME_IS_UP = "time_is_up"
    NOT_OFFERED = "not_offered"
    TOO_MUCH_SOLD = "too_much_sold"
    SEATS_SOLD = "seats_sold"
    # The party is not served yet.
    TOO_FEW_PLACES = "too_few_places"
    TOO_FEW_SEATS = "too_few_seats"
    NOT_ITS_TURN = "not_its_turn"  # others are entitled to the free places
    BEHIND_FIRST = "behind_first"  # the first of its queue must not be overtaken again
    NEXT_BATCH = "next_batch"  # as many as possible were served at once
    LOCKED = "locked"  # another transaction is changing its places

    @property
    def ends_waitlist(self) -> bool:
        return self in _ENDING


_ENDING = frozenset(
    {
        Obstacle.EVENT_CANCELLED,
        Obstacle.EVENT_ARCHIVED,
        Obstacle.SALE_ENDED,
        Obstacle.SESSION_STARTED,
    }
)


def closed_by(session: SessionCatalog, now: datetime) -> Obstacle | None:
    """Why nobody on the session's waitlist is served; None if the waitlist is open."""
    sale = session.sale
    if sale.status is EventStatus.CANCELLED:
        return Obstacle.EVENT_CANCELLED
    if sale.status is EventStatus.ARCHIVED:
        return Obstacle.EVENT_ARCHIVED
    if sale.is_over(now):
        return Obstacle.SALE_ENDED
    if session.has_started(now):
        return Obstacle.SESSION_STARTED
    if not sale.status.is_on_sale:
        return Obstacle.EVENT_NOT_ON_SALE
    return None if sale.is_within_window(now) else Obstacle.SALE_NOT_OPEN


def has_ended(session: SessionCatalog, now: datetime) -> bool:
    """Whether the waitlist is over for good, even if parties are still on it."""
    closed = closed_by(session, now)
    return closed is not None and closed.ends_waitlist


def withdrawn_type(session: SessionCatalog, party: Hold) -> TicketTypeId | None:
    """A ticket type that the party wants and that is no longer sold where it wants it."""
    for line in party.lines:
        if line.ticket_type_id not in session.offers:
            return line.ticket_type_id
        wish = line.wish
        if wish is not None and not blocks_for(line.ticket_type_id, wish.block_id, session):
            return line.ticket_type_id
    return None


@immutable
class Shortage:
    """A pool with fewer places than a party needs. `available` counts the free ones or, for a party
    that cannot be served at all, the unsold ones."""

    pool_id: PoolId
    needed: int
    available: int


@immutable
class Explanation:
    """What keeps a party from being served, with the pools that are short, the seats that were
    looked for, or the ticket type that is no longer sold."""

    obstacle: Obstacle
    shortages: tuple[Shortage, ...] = ()
    seats: Proposal | None = None
    ticket_type_id: TicketTypeId | None = None


@dataclass(slots=True)
class Findings:
    """The explanations that one pass over a waitlist has found."""

    session: SessionCatalog
    of_party: dict[HoldId, Explanation] = field(default_factory=dict)

    def note(self, ledger: Ledger, party: Hold, obstacle: Obstacle) -> None:
        self.of_party[party.id] = explanation_of(ledger, self.session, party, obstacle)


def explanation_of(
    ledger: Ledger, session: SessionCatalog, party: Hold, obstacle: Obstacle
) -> Explanation:
    """The obstacle with its details, as things are in this ledger."""
    match obstacle:
        case Obstacle.TOO_FEW_PLACES:
            return Explanation(obstacle, _shortages(ledger, party, is_unsold=False))
        case Obstacle.TOO_MUCH_SOLD:
            return Explanation(obstacle, _shortages(ledger, party, is_unsold=True))
        case Obstacle.TOO_FEW_SEATS:
            scope = waitlist_scope(ledger, session, ledger.seatings[session.key])
            return Explanation(obstacle, seats=propose(scope, seat_asks(party))[0])
        case Obstacle.NOT_OFFERED:
            return Explanation(obstacle, ticket_type_id=withdrawn_type(session, party))
        case _:
            return Explanation(obstacle)


def _shortages(ledger: Ledger, party: Hold, *, is_unsold: bool) -> tuple[Shortage, ...]:
    found = []
    for pool_id, units in units_by_pool(party).items():
        pool = ledger.pools.get(pool_id)
        if pool is not None:
            left = pool.total - pool.sold if is_unsold else ledger.available(pool_id)
            if left < units:
                found.append(Shortage(pool_id, units, left))
    return tuple(found)
