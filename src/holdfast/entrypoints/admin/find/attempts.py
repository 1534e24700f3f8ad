"""The refused attempts of a person or in a session: what was asked for, why it was refused, and
what the same customer did next."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from time import monotonic
from uuid import UUID

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import Hold
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.display import row_link
from holdfast.entrypoints.admin.find.names import Names
from holdfast.entrypoints.admin.find.people import Person
from holdfast.entrypoints.admin.find.refusal_words import Refused, reason
from holdfast.ports.audit.reader import AuditEntry, AuditFilter, AuditOutcome
from holdfast.services.audit import trail

ATTEMPTS_MAX = 100
ENTRIES_MAX = 1_000
# A search that finds too few goes on from where it stopped.
ROUNDS_MAX = 10
SECONDS_MAX = 2.0
# A customer who was refused more recently may still be trying.
_STILL_TRYING = timedelta(minutes=10)

# What a customer got, lost or joined; other entries of a hold say nothing about an attempt.
_STEPS = {
    "hold.created": "got {tickets}",
    "hold.waiting": "joined the waitlist",
    "hold.promoted": "got {tickets} from the waitlist",
    "hold.changed": "changed the cart to {tickets}",
    "hold.extended": "got more time",
    "hold.converted": "paid",
    "hold.expired": "the hold expired",
    "hold.cancelled": "the hold was released",
}
_ASKS = {
    "hold.extend_failed": "More time for {hold}",
    "hold.release_failed": "To release {hold}",
    "hold.convert_failed": "To pay for {hold}",
    "hold.move_failed": "To move {hold} to other seats",
    "hold.promote_failed": "To promote {hold} from the waitlist",
    "order.cancel_failed": "To cancel an order",
    "order.refund_failed": "To record a refund",
    "checkout.start_failed": "To check out {hold}",
    "cart.renew_failed": "To renew an expired cart",
    "seat.block_failed": "To block {wanted}",
    "seat.unblock_failed": "To unblock {wanted}",
    "hold.create_failed": "{wanted}",
    "seat_reserve_failed": "{wanted}",
    "cart.fill_failed": "{wanted}, in a cart",
}


class AuditUnavailable(Exception):
    """The audit log could not be read."""


@immutable
class Attempt:
    at: datetime
    times: int
    session: str
    asked: str
    reason: str
    next: SafeString | str
    holder: UUID | None


@immutable
class Attempts:
    """Oldest first. `has_older` if there may be earlier ones that are not shown."""

    shown: Sequence[Attempt]
    has_older: bool


def was_refused(person: Person) -> bool:
    """False if the audit log cannot be read: a search leaves it out."""
    try:
        filters = _filters(person, AuditOutcome.REFUSED)
        return any(_read(person.organization_id, only, 1, is_patient=False)[0] for only in filters)
    except AuditUnavailable:
        return False


def attempts_of_person(person: Person) -> Attempts:
    """The entries are read together, so all that followed a refusal is among them."""
    entries, has_older = _of_person(person)
    return _attempts(person.organization_id, entries, has_older=has_older)


def attempts_in_session(
    organization_id: UUID, session_id: UUID, holder: UUID | None = None
) -> Attempts:
    """Everybody's, or those of one customer, who is named by the hash of the entries."""
    only = AuditFilter(
        session_id=SessionId(session_id),
        outcome=AuditOutcome.REFUSED,
        email_keys=None if holder is None else (holder,),
    )
    refused, reached = _read(organization_id, only, ATTEMPTS_MAX)
    has_older = reached is not None
    if not refused:
        return Attempts((), has_older)
    since = min(entry.at for entry in refused)
    later = AuditFilter(
        session_id=SessionId(session_id), outcome=AuditOutcome.DONE, created_from=since
    )
    done, known_from = _read(organization_id, later, ENTRIES_MAX)
    return _attempts(
        organization_id, [*refused, *done], has_older=has_older, known_from=known_from or since
    )


def _filters(person: Person, outcome: AuditOutcome | None = None) -> list[AuditFilter]:
    """By address and by user id, which may find different entries."""
    filters = []
    if person.hashes:
        filters.append(AuditFilter(email_keys=person.hashes, outcome=outcome))
    if person.user_id is not None:
        filters.append(AuditFilter(user_id=person.user_id, outcome=outcome))
    return filters


def _of_person(person: Person) -> tuple[list[AuditEntry], bool]:
    """The entries down to where all of them are known."""
    found: dict[int, AuditEntry] = {}
    has_older, since = False, None
    for only in _filters(person):
        entries, reached = _read(person.organization_id, only, ENTRIES_MAX)
        found |= {entry.seq: entry for entry in entries}
        if reached is not None:
            has_older = True
            since = max(filter(None, (since, reached)))
    return [each for each in found.values() if since is None or each.at >= since], has_older


def _read(
    organization_id: UUID, only: AuditFilter, limit: int, *, is_patient: bool = True
) -> tuple[list[AuditEntry], datetime | None]:
    """The newest entries, and the time down to which they are complete; None if all were read."""
    reader, own = AdminConfig.services.audit, OrganizationId(organization_id)
    started_at, entries, reached = monotonic(), list[AuditEntry](), None
    for _ in range(ROUNDS_MAX if is_patient else 1):
        found = trail.entries(reader, own, only, limit - len(entries), reached)
        if isinstance(found, Refusal):
            raise AuditUnavailable
        entries += found.entries
        reached = found.next
        if reached is None or len(entries) == limit or monotonic() - started_at > SECONDS_MAX:
            break
    return entries, None if reached is None else reached.at


def _attempts(
    organization_id: UUID,
    entries: Iterable[AuditEntry],
    *,
    has_older: bool,
    known_from: datetime | None = None,
) -> Attempts:
    """`known_from`: what happened before that is not among the entries."""
    told = sorted(entries, key=lambda entry: (entry.at, entry.seq))
    refused = [entry for entry in told if "error" in entry.new]
    shown = refused[-ATTEMPTS_MAX:]
    done = [entry for entry in told if entry.action in _STEPS and "error" not in entry.new]
    names = Names(organization_id, [*shown, *done])
    story = _Story(organization_id, refused, done, names, known_from)
    attempts = [_attempt(entry, names, story) for entry in shown]
    return Attempts(attempts, has_older or len(refused) > len(shown))


def _attempt(entry: AuditEntry, names: Names, story: "_Story") -> Attempt:
    times = entry.new.get("times")
    session = None if entry.session_id is None else names.sessions.get(entry.session_id)
    return Attempt(
        at=entry.at,
        times=times if isinstance(times, int) else 1,
        session="" if session is None else f"{session.event}: {session}",
        asked=_asked(entry, names),
        reason=reason(entry, names),
        next=story.after(entry),
        holder=entry.holder,
    )


def _asked(entry: AuditEntry, names: Names) -> str:
    said = _ASKS.get(entry.action)
    if said is None:
        return str(entry.new.get("route", entry.action))
    return said.format(hold=names.hold_of(entry), wanted=Refused(entry, names).wanted)


class _Story:
    """What happened after an attempt. Of several customers, each has a story of their own."""

    def __init__(
        self,
        organization_id: UUID,
        refused: Sequence[AuditEntry],
        done: Sequence[AuditEntry],
        names: Names,
        known_from: datetime | None,
    ) -> None:
        self._organization_id = organization_id
        self._refused, self._done = refused, done
        self._names, self._known_from = names, known_from
        self._is_of_many = known_from is not None

    def after(self, attempt: AuditEntry) -> SafeString | str:
        again = next(filter(lambda each: self._follows(attempt, each), self._refused), None)
        first = next(filter(lambda each: self._follows(attempt, each), self._done), None)
        if first is not None and (again is None or first.at <= again.at):
            return self._steps(attempt, first)
        if again is not None:
            return f"Tried again at {_clock(again.at, attempt)}."
        if self._is_of_many and attempt.holder is None:
            return "Not known: the attempt named no customer."
        if self._known_from is not None and attempt.at < self._known_from:
            return "Not known: too many entries since then."
        if timezone.now() - attempt.at < _STILL_TRYING:
            return "Nothing more so far."
        return "Gave up: nothing more for this session."

    def _follows(self, attempt: AuditEntry, later: AuditEntry) -> bool:
        if (later.at, later.seq) <= (attempt.at, attempt.seq):
            return False
        if self._is_of_many and (attempt.holder is None or later.holder != attempt.holder):
            return False
        return attempt.session_id is None or later.session_id == attempt.session_id

    def _steps(self, attempt: AuditEntry, first: AuditEntry) -> SafeString:
        """All that became of the hold."""
        of_hold = [each for each in self._done if each.hold_id == first.hold_id]
        steps = [each for each in of_hold if (each.at, each.seq) >= (first.at, first.seq)]
        said = ", ".join(f"{_step(each)} at {_clock(each.at, attempt)}" for each in steps)
        hold_id = first.hold_id
        assert hold_id is not None, "all steps are those of a hold"
        name = self._names.holds.get(hold_id, "hold")
        hold = row_link(Hold, hold_id, name, self._organization_id)
        return format_html("{}{} (hold {}).", said[:1].upper(), said[1:], hold)


def _step(entry: AuditEntry) -> str:
    quantity = entry.new.get("quantity")
    tickets = "tickets" if not isinstance(quantity, int) else f"{quantity} tickets"
    return _STEPS[entry.action].format(tickets="1 ticket" if quantity == 1 else tickets)


def _clock(moment: datetime, attempt: AuditEntry) -> str:
    """The time alone on the day of the attempt."""
    same_day = moment.date() == attempt.at.date()
    return f"{moment:%H:%M:%S}" if same_day else f"{moment:%Y-%m-%d %H:%M}"
