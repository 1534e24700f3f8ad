"""The numbers of one organization. Each query reads an index, stops at a limit, and has little
time: a number that cannot be counted is left out, and the others are shown."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import structlog
from django.db import DatabaseError, connection, transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.utils import timezone

from holdfast.adapters.postgres.models import AuditEntry, Hold, Order, Organization, WaitingLine
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order import OrderStatus
from holdfast.entrypoints.admin.audit import reason
from holdfast.entrypoints.admin.dashboard.on_sale import EventOnSale, events_on_sale

SECONDS_MAX = 2
HOLDS_COUNTED_MAX = 20_000
EXPIRING_MINUTES = 5
EXPIRING_SHOWN_MAX = 8
EXPIRING_COUNTED_MAX = 1_000
# Ticket sales take minutes, reservations at a box office may take days.
LONGEST_HOLD = timedelta(days=31)
QUEUES_READ_MAX = 5_000
SESSIONS_WAITING_MAX = 6
REFUSALS_READ_MAX = 20_000
REASONS_SHOWN_MAX = 8

T = TypeVar("T")

_log = structlog.get_logger("holdfast.dashboard")

# Without statistics, the planner would rather read and sort many rows than read an index in order.
_BOUNDED = f"""
SET LOCAL statement_timeout = '{SECONDS_MAX}s';
SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off"""


@immutable
class Amount:
    """`is_cut_off`: there are more."""

    tickets: int
    times: int
    is_cut_off: bool


@immutable
class Today:
    """Since midnight in the organization's time zone."""

    sold: Amount
    held: Amount


@immutable
class ExpiringHold:
    id: UUID
    reference: str
    quantity: int
    session_name: str
    expires_at: datetime


@immutable
class Expiring:
    holds: tuple[ExpiringHold, ...]
    count: int
    is_cut_off: bool


@immutable
class WaitingSession:
    session_id: UUID
    name: str
    waiting: int


@immutable
class RefusedFor:
    code: str
    reason: str
    times: int


@immutable
class Refusals:
    reasons: tuple[RefusedFor, ...]
    since: datetime
    is_cut_off: bool

    @property
    def total(self) -> int:
        return sum(each.times for each in self.reasons)


@immutable
class Numbers:
    """None: could not be counted in time."""

    on_sale: tuple[EventOnSale, ...] | None
    today: Today | None
    expiring: Expiring | None
    waiting: tuple[WaitingSession, ...] | None
    refusals: Refusals | None


def numbers_of(organization: Organization) -> Numbers:
    now = timezone.now()
    return Numbers(
        on_sale=in_time("on_sale", lambda: events_on_sale(organization.id, now)),
        today=in_time("today", lambda: _today(organization, now)),
        expiring=in_time("expiring", lambda: _expiring(organization.id, now)),
        waiting=in_time("waiting", lambda: _waiting(organization.id)),
        refusals=in_time("refusals", lambda: _refusals(organization.id, now)),
    )


def in_time(name: str, count: Callable[[], T]) -> T | None:
    try:
        with bounded():
            return count()
    except DatabaseError as error:
        _log.warning("dashboard.not_counted", what=name, problem=type(error).__name__)
        return None


@contextmanager
def bounded() -> Iterator[None]:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_BOUNDED)
        yield


def midnight_of(organization: Organization, now: datetime) -> datetime:
    local = now.astimezone(ZoneInfo(organization.time_zone))
    return local.replace(hour=0, minute=0, second=0, microsecond=0)


def _today(organization: Organization, now: datetime) -> Today:
    midnight = midnight_of(organization, now)
    paid = newest_holds(organization.id, HoldStatus.CONVERTED, midnight - LONGEST_HOLD)
    sold = _amount(paid, Q(confirmed_at__gte=midnight))
    orders = Order.objects.filter(organization_id=organization.id, created_at__gte=midnight)
    counted = orders.order_by("-created_at", "-id")[:HOLDS_COUNTED_MAX].aggregate(
        read=Count("id"), valid=Count("id", filter=~Q(status=OrderStatus.CANCELLED.value))
    )
    void = [_void_tickets(organization.id, status, midnight) for status in _WITH_VOID_TICKETS]
    held = [
        _amount(newest_holds(organization.id, status, midnight), Q(held_at__isnull=False))
        for status in HoldStatus
        if status is not HoldStatus.WAITING
    ]
    return Today(
        sold=Amount(
            max(0, sold.tickets - sum(void)),
            counted["valid"],
            sold.is_cut_off or HOLDS_COUNTED_MAX in {counted["read"], *void},
        ),
        held=Amount(
            sum(each.tickets for each in held),
            sum(each.times for each in held),
            any(each.is_cut_off for each in held),
        ),
    )


_WITH_VOID_TICKETS = (OrderStatus.PARTLY_CANCELLED, OrderStatus.CANCELLED)
# Only the orders that have some, which an index of their own finds.
VOID_TICKETS = """
SELECT count(*) FROM (
    SELECT FROM (
        SELECT organization_id, hold_ids FROM purchase_order
        WHERE organization_id = %(own)s AND status = %(status)s AND created_at >= %(since)s
        ORDER BY created_at DESC, id DESC LIMIT %(limit)s
    ) o
    CROSS JOIN unnest(o.hold_ids) AS named (hold_id)
    CROSS JOIN LATERAL (
        SELECT FROM ticket t WHERE t.organization_id = o.organization_id
            AND t.hold_id = named.hold_id AND t.voided_at IS NOT NULL
        LIMIT %(limit)s
    ) v
    LIMIT %(limit)s
) AS void
"""


def _void_tickets(organization_id: UUID, status: OrderStatus, since: datetime) -> int:
    names = {"own": organization_id, "status": status.value, "since": since}
    with connection.cursor() as cursor:
        cursor.execute(VOID_TICKETS, {**names, "limit": HOLDS_COUNTED_MAX})
        rows: list[Any] = cursor.fetchall()
    return int(rows[0][0])


def newest_holds(organization_id: UUID, status: HoldStatus, since: datetime) -> QuerySet[Hold]:
    own = {"organization_id": organization_id, "status": status.value, "created_at__gte": since}
    return Hold.objects.filter(**own).order_by("-created_at", "-id")[:HOLDS_COUNTED_MAX]


def _amount(holds: QuerySet[Hold], only: Q) -> Amount:
    counted = holds.aggregate(
        read=Count("id"), times=Count("id", filter=only), tickets=Sum("quantity", filter=only)
    )
    is_cut_off = counted["read"] == HOLDS_COUNTED_MAX
    return Amount(counted["tickets"] or 0, counted["times"], is_cut_off)


def _expiring(organization_id: UUID, now: datetime) -> Expiring:
    """Each session has its own range of the index, so they are asked one by one."""
    soon = now + timedelta(minutes=EXPIRING_MINUTES)
    with connection.cursor() as cursor:
        names: dict[str, Any] = {
            "own": organization_id,
            "soon": soon,
            "limit": EXPIRING_COUNTED_MAX,
        }
        cursor.execute(NEXT_TO_EXPIRE, names)
        rows: list[Any] = cursor.fetchall()
    shown = tuple(ExpiringHold(*row) for row in rows[:EXPIRING_SHOWN_MAX])
    return Expiring(shown, len(rows), len(rows) == EXPIRING_COUNTED_MAX)


NEXT_TO_EXPIRE = """
SELECT h.id, h.reference, h.quantity, s.name, h.expires_at
FROM session s
CROSS JOIN LATERAL (
    SELECT id, reference, quantity, expires_at FROM hold
    WHERE organization_id = s.organization_id AND session_id = s.id AND status = 'active'
        AND expires_at > statement_timestamp() AND expires_at <= %(soon)s
    ORDER BY expires_at LIMIT %(limit)s
) h
WHERE s.organization_id = %(own)s
ORDER BY h.expires_at, h.id LIMIT %(limit)s
"""


def _waiting(organization_id: UUID) -> tuple[WaitingSession, ...]:
    """The longest first."""
    queues = WaitingLine.objects.filter(organization_id=organization_id, waiting__gt=0)
    read = queues.select_related("session").order_by("session_id")[:QUEUES_READ_MAX]
    found: dict[UUID, WaitingSession] = {}
    for queue in read:
        before = found.get(queue.session_id)
        waiting = queue.waiting + (before.waiting if before else 0)
        found[queue.session_id] = WaitingSession(queue.session_id, queue.session.name, waiting)
    return tuple(sorted(found.values(), key=lambda each: -each.waiting))


def _refusals(organization_id: UUID, now: datetime) -> Refusals:
    since = now - timedelta(hours=1)
    rows = list(
        AuditEntry.objects.filter(organization_id=organization_id, at__gte=since)
        .filter(new__has_key="error")
        .order_by("-at", "-seq")
        .values_list("new__error", "new__times")[:REFUSALS_READ_MAX]
    )
    times: dict[str, int] = {}
    for code, folded in rows:
        times[str(code)] = times.get(str(code), 0) + int(folded or 1)
    reasons = (RefusedFor(code, reason({"error": code}), count) for code, count in times.items())
    ordered = tuple(sorted(reasons, key=lambda each: (-each.times, each.code)))
    return Refusals(ordered, since, len(rows) == REFUSALS_READ_MAX)
