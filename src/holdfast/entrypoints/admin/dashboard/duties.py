"""Whether the background duties keep up. They work for all organizations, so members see only
whether they are late; operators see the numbers."""

from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

from holdfast.adapters.postgres.models import Hold, Waitlist
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.immutable import immutable
from holdfast.entrypoints.admin.facts import relay_state
from holdfast.ports.holds import PROMOTER_LEASE_SECONDS

COUNTED_MAX = 1_000
# A duty may also run in a worker, every ten seconds.
LATE_SECONDS = 30

_PROMOTER = "SELECT held_until FROM promoter_lease"
# A hold that was just changed is not due yet.
_RECONCILER = """
SELECT count(*), min(since) FILTER (WHERE attempts > 0 OR due_at <= statement_timestamp()),
    (SELECT finished_at FROM inventory_comparison)
FROM (SELECT since, attempts, due_at FROM inventory_task ORDER BY due_at LIMIT %s) AS task
"""


@immutable
class Duty:
    """`late_seconds`: for how long the oldest work has been due; None if the duty has never run.
    `count` of `what` is due, at most COUNTED_MAX."""

    name: str
    does: str
    page: str
    what: str
    count: int
    late_seconds: int | None
    active_at: datetime | None = None

    @property
    def is_late(self) -> bool:
        return self.late_seconds is not None and self.late_seconds > LATE_SECONDS

    @property
    def is_cut_off(self) -> bool:
        return self.count >= COUNTED_MAX


def duties() -> tuple[Duty, ...]:
    return _reaper(), _promoter(), _relay(), *_reconciler()


def _reaper() -> Duty:
    now = timezone.now()
    open_now = (HoldStatus.WAITING.value, HoldStatus.ACTIVE.value)
    due = Hold.objects.filter(status__in=open_now, due_at__lte=now).order_by("due_at")
    oldest = due.values_list("due_at", flat=True).first()
    count = 0 if oldest is None else due[:COUNTED_MAX].count()
    late = 0 if oldest is None else int((now - oldest).total_seconds())
    return Duty("Reaper", "expires holds and warns buyers", "hold", "hold", count, late)


def _promoter() -> Duty:
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(_PROMOTER)
        (held_until,) = cursor.fetchone()
    active_at = held_until - timedelta(seconds=PROMOTER_LEASE_SECONDS)
    count = Waitlist.objects.filter(is_settled=False).order_by("organization_id", "session_id")
    unsettled = count[:COUNTED_MAX].count()
    late = int((now - held_until).total_seconds()) if unsettled and held_until < now else 0
    does = "gives freed places to the waitlist"
    return Duty("Promoter", does, "waitlist", "waitlist", unsettled, late, active_at)


def _relay() -> Duty:
    state = relay_state(COUNTED_MAX)
    moved_at = state["moved_at"]
    late = None if moved_at is None else state["oldest_seconds"]
    does = "publishes facts to the broker"
    return Duty("Relay", does, "fact", "fact", min(state["waiting"], COUNTED_MAX), late, moved_at)


def _reconciler() -> tuple[Duty, ...]:
    """Only where another service counts the tickets."""
    with connection.cursor() as cursor:
        cursor.execute(_RECONCILER, [COUNTED_MAX])
        count, oldest, compared_at = cursor.fetchone()
    if not count and compared_at is None:
        return ()
    late = 0 if oldest is None else int((timezone.now() - oldest).total_seconds())
    does = "settles holds with the Inventory Service"
    return (Duty("Reconciler", does, "hold", "hold", count, late),)
