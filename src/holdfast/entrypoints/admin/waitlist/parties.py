"""The parties on a waitlist: what each wants, and what keeps it from being served."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.db import connection
from django.utils import timezone
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import (
    Block,
    Event,
    Hold,
    HoldLine,
    Pool,
    TicketType,
    WaitingLine,
    Waitlist,
)
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Explained
from holdfast.domain.ids import HoldId, OrganizationId, SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.waitlist.explain_waiting import ExplainWaiting
from holdfast.domain.waitlist.obstacles import Explanation
from holdfast.domain.waitlist.queues import QUEUES_MAX
from holdfast.entrypoints.admin.actions import act
from holdfast.entrypoints.admin.display import redacted, row_link
from holdfast.entrypoints.admin.lookups import name_of
from holdfast.entrypoints.admin.snapshots import Busy, Snapshots
from holdfast.entrypoints.admin.waitlist.words import NOT_LOOKED_AT, Context, words
from holdfast.ports.holds import PROMOTER_LEASE_SECONDS

QUEUES_SHOWN_MAX = 20
PARTIES_PER_PAGE = 25

_explained: Snapshots[Mapping[HoldId, Explanation | None]] = Snapshots()

# The first parties after a place, of all queues: one probe of the index for each queue.
_PARTIES = """
SELECT p.hold_id, p.since, l.id, l.passes - p.passes_seen
FROM waiting_line l
CROSS JOIN LATERAL (
    SELECT hold_id, since, passes_seen FROM waiting_place
    WHERE organization_id = l.organization_id AND session_id = l.session_id AND line_id = l.id
        AND (since, hold_id) > (%(since)s::timestamptz, %(hold_id)s::uuid)
    ORDER BY since, hold_id LIMIT %(of_each)s
) p
WHERE l.organization_id = %(organization_id)s AND l.session_id = %(session_id)s
ORDER BY p.since, p.hold_id LIMIT %(limit)s
"""
_PROMOTER = """
SELECT held_until - make_interval(secs => %s) FROM promoter_lease
WHERE held_until <= statement_timestamp()
"""


class Place(NamedTuple):
    """Where a page of parties begins: behind this party, which is the `number`-th."""

    number: int = 0
    since: str = "-infinity"
    hold_id: str = str(UUID(int=0))

    @classmethod
    def of(cls, text: str) -> Self:
        """The place that a link names; the start if it names none."""
        number, _, place = text.partition("_")
        since, _, hold_id = place.partition("_")
        try:
            moment = datetime.fromisoformat(since).isoformat()
            return cls(max(0, int(number)), moment, str(UUID(hold_id)))
        except ValueError:
            return cls()

    def __str__(self) -> str:
        return f"{self.number}_{self.since}_{self.hold_id}"


@dataclass(frozen=True)
class Party:
    """`number` is its place in the order of arrival."""

    number: int
    hold: Hold
    wants: str
    since: datetime
    overtaken: int
    reason: str

    @property
    def link(self) -> SafeString:
        return row_link(Hold, self.hold.id, self.hold.reference, self.hold.organization_id)

    @property
    def holder(self) -> str:
        return redacted(self.hold.email or self.hold.user_id or "-")


@dataclass(frozen=True)
class Parties:
    """A page of parties in order of arrival, and the place where the next page begins."""

    shown: list[Party]
    following: Place | None


@dataclass(frozen=True)
class Queue:
    """The parties who want the same pools and blocks, with the first of them."""

    wants: str
    row: WaitingLine
    first: Party | None


@dataclass(frozen=True)
class Reasons:
    """What keeps each party from being served, or why that is not known."""

    explained: Mapping[HoldId, Explanation | None]
    context: Context
    problem: str = ""

    def of(self, hold_id: UUID) -> str:
        if self.problem:
            return self.problem
        if hold_id not in self.explained:
            return NOT_LOOKED_AT
        return words(self.explained[HoldId(hold_id)], self.context)

    @property
    def ends_waitlist(self) -> bool:
        """What would be done to its parties: the obstacle is the same for all of them."""
        return any(each and each.obstacle.ends_waitlist for each in self.explained.values())

    def is_unblocked(self, hold_id: UUID) -> bool:
        return hold_id in self.explained and self.explained[HoldId(hold_id)] is None


def reasons_of(waitlist: Waitlist, origin: Origin) -> Reasons:
    """Ask the engine, which decides promotions. All viewers share its answer for some seconds,
    unless the waitlist changes: it costs as much as a promotion."""
    own = (OrganizationId(waitlist.organization_id), SessionId(waitlist.session_id))
    context = _context(waitlist)
    try:
        command = ExplainWaiting(*own, origin)
        explained = _explained.get((*own, waitlist.version), lambda: _explain(command))
    except Busy:
        problem = "Not known at this moment: its places are being changed. Reload the page."
        return Reasons({}, context, problem)
    return Reasons(explained, context)


def _explain(command: ExplainWaiting) -> Mapping[HoldId, Explanation | None]:
    outcome = act(command)
    if isinstance(outcome, Refusal):
        raise Busy
    assert isinstance(outcome, Explained)
    return outcome.parties


def _context(waitlist: Waitlist) -> Context:
    with connection.cursor() as cursor:
        cursor.execute(_PROMOTER, [PROMOTER_LEASE_SECONDS])
        stopped_at = cursor.fetchone()
    event = Event.objects.filter(
        organization_id=waitlist.organization_id, id=waitlist.session.event_id
    ).first()
    opens_at = None if event is None else event.sale_starts_at
    is_ahead = opens_at is not None and opens_at > timezone.now()
    return Context(
        names_of(waitlist), opens_at if is_ahead else None, stopped_at[0] if stopped_at else None
    )


def names_of(waitlist: Waitlist) -> dict[UUID, str]:
    """The names of the session's pools, blocks and ticket types."""
    own = {"organization_id": waitlist.organization_id, "session_id": waitlist.session_id}
    return {
        id_: name
        for model in (Pool, Block, TicketType)
        for id_, name in model.objects.filter(**own).values_list("id", "name")
    }


def parties_of(waitlist: Waitlist, after: Place, reasons: Reasons) -> Parties:
    rows = _rows(waitlist, after, PARTIES_PER_PAGE + 1, PARTIES_PER_PAGE + 1)
    page = rows[:PARTIES_PER_PAGE]
    following = None
    if len(rows) > len(page):
        last = page[-1]
        following = Place(after.number + len(page), last.since.isoformat(), str(last.hold_id))
    return Parties(_parties(waitlist, page, reasons, after.number), following)


def queues_of(waitlist: Waitlist, reasons: Reasons) -> list[Queue]:
    """The oldest queues. Each has one first party, whose obstacle holds up the others."""
    own = {"organization_id": waitlist.organization_id, "session_id": waitlist.session_id}
    queues = list(WaitingLine.objects.filter(**own).order_by("opened_at")[:QUEUES_SHOWN_MAX])
    shown = {queue.id for queue in queues}
    first = [row for row in _rows(waitlist, Place(), 1, QUEUES_MAX) if row.queue_id in shown]
    of_queue = zip(first, _parties(waitlist, first, reasons), strict=True)
    parties = {row.queue_id: party for row, party in of_queue}
    names = reasons.context.names
    return [
        Queue(
            ", ".join(sorted(names.get(each, "?") for each in queue.wants)),
            queue,
            parties.get(queue.id),
        )
        for queue in queues
    ]


class _Row(NamedTuple):
    hold_id: UUID
    since: datetime
    queue_id: UUID
    overtaken: int


def _rows(waitlist: Waitlist, after: Place, of_each: int, limit: int) -> list[_Row]:
    names: dict[str, Any] = {
        "organization_id": waitlist.organization_id,
        "session_id": waitlist.session_id,
        "since": after.since,
        "hold_id": after.hold_id,
        "of_each": of_each,
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(_PARTIES, names)
        return [_Row(*row) for row in cursor.fetchall()]


def _parties(
    waitlist: Waitlist, rows: Sequence[_Row], reasons: Reasons, before: int = 0
) -> list[Party]:
    ids = [row.hold_id for row in rows]
    found = Hold.objects.filter(organization_id=waitlist.organization_id, id__in=ids)
    holds = {hold.id: hold for hold in found}
    wants = _wants(waitlist, ids)
    return [
        Party(
            number,
            holds[row.hold_id],
            wants.get(row.hold_id, "-"),
            row.since,
            row.overtaken,
            reasons.of(row.hold_id),
        )
        for number, row in enumerate(rows, before + 1)
    ]


def _wants(waitlist: Waitlist, hold_ids: Sequence[UUID]) -> dict[UUID, str]:
    """What each party asks for, such as `2 Adult in Stalls, together`."""
    lines: Any = HoldLine.objects.filter(
        organization_id=waitlist.organization_id,
        hold_id__in=hold_ids,
        removed_version__isnull=True,
    )
    lines = lines.annotate(wished_block=name_of(Block.objects.all(), "wish_block_id"))
    wants: dict[UUID, list[str]] = {}
    for line in lines.select_related("ticket_type").order_by("position"):
        wants.setdefault(line.hold_id, []).append(_want(line))
    return {hold_id: "; ".join(parts) for hold_id, parts in wants.items()}


def _want(line: Any) -> str:
    said = f"{line.quantity} {line.ticket_type.name}"
    if line.wished_block:
        said += f" in {line.wished_block}"
    if line.wish_is_together:
        said += ", together"
    if line.wish_accessible:
        said += f", {line.wish_accessible} accessible"
    return said
