"""Seats by the name that is printed on a ticket. No index has it, because every sale would have to
update that index: the seats of the next sessions are read, one session at a time."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from time import monotonic
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Now, Upper

from holdfast.adapters.postgres.models import Block, Seat, Session
from holdfast.entrypoints.admin.seats.hall import seat_status_now

SESSIONS_MAX = 20
SECONDS_MAX = 2.0
# A session is looked at for this long after its start.
_AFTER_START = timedelta(days=1)
_SEPARATORS = re.compile(r"[\s,;:/-]+")
_LABELS = {"ROW", "SEAT"}
_JOINED = re.compile(r"([^\W\d]+)(\d+[^\W\d]?)")


class SeatName(NamedTuple):
    """In capitals. Without a block, seats of every block match."""

    block: str
    row: str
    number: str


def names_in(text: str) -> list[SeatName]:
    """What `Parterre B 12`, `B12` or `Parterre, row B, seat 12` may mean; nothing for a text that
    names no seat."""
    words = [word for word in _normalized(text).split(" ") if word and word not in _LABELS]
    if not words or not any(letter.isdigit() for letter in words[-1]):
        return []
    *others, last = words
    names = []
    if others:
        names.append(SeatName(" ".join(others[:-1]), others[-1], last))
    if joined := _JOINED.fullmatch(last):
        names.append(SeatName(" ".join(others), *joined.groups()))
    return names


def found_seats(
    organization_ids: Sequence[UUID], names: Sequence[SeatName], limit: int
) -> tuple[list[Any], bool]:
    """The seats with one of these names, those of the next session first, and whether there may be
    more."""
    started, found = monotonic(), list[Any]()
    sessions = _sessions(organization_ids) if names else []
    for session in sessions[:SESSIONS_MAX]:
        for name in names:
            found += _of_session(session, name, limit)
        if len(found) > limit or monotonic() - started > SECONDS_MAX:
            return found[:limit], True
    return found, len(sessions) > SESSIONS_MAX


def _sessions(organization_ids: Sequence[UUID]) -> list[Session]:
    """The next ones to start, then the newest of those that have no start."""
    next_ones, newest = list[tuple[datetime, Session]](), list[tuple[datetime, Session]]()
    for own in organization_ids:
        rows, some = Session.objects.filter(organization_id=own), SESSIONS_MAX + 1
        after = rows.filter(starts_at__gte=Now() - _AFTER_START).order_by("starts_at")
        next_ones += [(each.starts_at, each) for each in after[:some] if each.starts_at]
        latest = rows.order_by("-created_at", "-id")
        newest += [(each.created_at, each) for each in latest[:some] if not each.starts_at]
    next_ones.sort(key=itemgetter(0))
    newest.sort(key=itemgetter(0), reverse=True)
    return [session for _, session in (*next_ones, *newest)][: SESSIONS_MAX + 1]


def _of_session(session: Session, name: SeatName, limit: int) -> list[Any]:
    own = {"organization_id": session.organization_id, "session_id": session.id}
    seats: QuerySet[Any] = Seat.objects.filter(**own).annotate(
        row_written=Upper("row_name"),
        number_written=Upper("number"),
        status_now=seat_status_now(),
    )
    seats = seats.filter(row_written=name.row, number_written=name.number)
    if name.block:
        blocks = Block.objects.filter(**own).values_list("id", "name")
        wanted = [id_ for id_, written in blocks if _normalized(written) == name.block]
        if not wanted:
            return []
        seats = seats.filter(block_id__in=wanted)
    return list(seats.select_related("block", "session__event")[: limit + 1])


def _normalized(text: str) -> str:
    return _SEPARATORS.sub(" ", text).strip().upper()
