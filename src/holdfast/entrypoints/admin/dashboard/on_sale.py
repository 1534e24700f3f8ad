"""The events on sale, with how much of each is sold, held and free."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Q, Sum

from holdfast.adapters.postgres.models import (
    Event,
    Pool,
    PoolLapse,
    Seat,
    Session,
    TicketType,
    TicketTypePool,
)
from holdfast.domain.catalog.model import EventStatus, SessionStatus
from holdfast.domain.immutable import immutable
from holdfast.domain.seats.seat import SeatStatus
from holdfast.entrypoints.admin.seats.hall import seat_status_now

EVENTS_SHOWN_MAX = 12
SESSIONS_READ_MAX = 500
# A session that has begun is shown until the next day.
SHOWN_AFTER_START = timedelta(days=1)


@immutable
class Places:
    sold: int = 0
    held: int = 0
    free: int = 0

    @property
    def total(self) -> int:
        return self.sold + self.held + self.free

    def __add__(self, other: "Places") -> "Places":
        return Places(self.sold + other.sold, self.held + other.held, self.free + other.free)


@immutable
class EventOnSale:
    id: UUID
    name: str
    sale_ends_at: datetime | None
    sessions: int
    next_session: datetime | None
    places: Places


def events_on_sale(organization_id: UUID, now: datetime) -> tuple[EventOnSale, ...]:
    """The newest first."""
    statuses = [status.value for status in EventStatus if status.is_on_sale]
    events = list(
        Event.objects.filter(organization_id=organization_id, status__in=statuses)
        .filter(Q(sale_starts_at__isnull=True) | Q(sale_starts_at__lte=now))
        .filter(Q(sale_ends_at__isnull=True) | Q(sale_ends_at__gte=now))
        .order_by("-created_at", "-id")[:EVENTS_SHOWN_MAX]
    )
    sessions: defaultdict[UUID, list[Session]] = defaultdict(list)
    still_on = Q(starts_at__isnull=True) | Q(starts_at__gte=now - SHOWN_AFTER_START)
    read = Session.objects.filter(
        still_on,
        organization_id=organization_id,
        event_id__in=[event.id for event in events],
        status=SessionStatus.SCHEDULED,
    )
    for session in read.order_by("-event_id", "-id")[:SESSIONS_READ_MAX]:
        sessions[session.event_id].append(session)
    ids = [session.id for each in sessions.values() for session in each]
    places = _places(organization_id, ids, now)
    return tuple(
        EventOnSale(
            event.id,
            event.name,
            event.sale_ends_at,
            len(sessions[event.id]),
            min((each.starts_at for each in sessions[event.id] if each.starts_at), default=None),
            sum((places[each.id] for each in sessions[event.id]), Places()),
        )
        for event in events
    )


def _places(
    organization_id: UUID, session_ids: list[UUID], now: datetime
) -> defaultdict[UUID, Places]:
    """Seats, and the pools of general admission, by session."""
    own = {"organization_id": organization_id, "session_id__in": session_ids}
    places: defaultdict[UUID, Places] = defaultdict(Places)
    seats = Seat.objects.filter(**own).order_by()
    for session_id, status, count in seats.values_list("session_id", seat_status_now()).annotate(
        seats=Count("id")
    ):
        places[session_id] += Places(
            sold=count * (status == SeatStatus.SOLD),
            held=count * (status == SeatStatus.HELD),
            free=count * (status == SeatStatus.AVAILABLE),
        )
    types = TicketType.objects.filter(**own, is_seated=False).values_list("id", flat=True)
    drawn = TicketTypePool.objects.filter(
        organization_id=organization_id, ticket_type_id__in=list(types)
    )
    chosen = counted_once(drawn.values_list("pool_id", "ticket_type_id"))
    lapsed = _lapsed_units(organization_id, chosen, now)
    for pool in Pool.objects.filter(organization_id=organization_id, id__in=chosen):
        held = pool.held - lapsed.get(pool.id, 0)
        free = pool.total - held - pool.sold
        places[pool.session_id] += Places(sold=pool.sold, held=held, free=max(0, free))
    return places


def _lapsed_units(organization_id: UUID, pool_ids: set[UUID], now: datetime) -> dict[UUID, int]:
    """Lapsed units are free, even before a command records that."""
    units = PoolLapse.objects.filter(
        organization_id=organization_id, pool_id__in=pool_ids, lapses_at__lte=now
    )
    return dict(units.order_by().values_list("pool_id").annotate(sum=Sum("units")))


def counted_once(drawn: Iterable[tuple[UUID, UUID]]) -> set[UUID]:
    """Pools such that no ticket counts twice: a ticket type may draw from its own quota and from
    the limit of the venue. A pool of many ticket types comes first."""
    types: defaultdict[UUID, set[UUID]] = defaultdict(set)
    for pool_id, type_id in drawn:
        types[pool_id].add(type_id)
    chosen: set[UUID] = set()
    covered: set[UUID] = set()
    for pool_id in sorted(types, key=lambda each: (-len(types[each]), each)):
        if not types[pool_id] & covered:
            chosen.add(pool_id)
            covered |= types[pool_id]
    return chosen
