"""The history of a hold in words. It is read from the audit log, which knows who did what and why;
people who may not read the audit log see the facts instead."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import ApiKey, AuditEntry, Fact
from holdfast.domain.access.scopes import Scope
from holdfast.domain.facts import iso
from holdfast.domain.group.transitions import FactType
from holdfast.domain.holds.hold import Source
from holdfast.domain.orders.facts import REFUNDED
from holdfast.domain.waitlist.promotion import ACTOR as WAITLIST
from holdfast.entrypoints.admin.audit import reason as refused_because
from holdfast.entrypoints.admin.display import redacted, shown_time
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.people.rights import current_request, may

STEPS_SHOWN_MAX = 50
# An entry may be written up to a day late, with the time of the attempt.
_EARLIER = timedelta(days=1)

_DONE = (
    *(kind.value for kind in FactType if kind.startswith("hold.")),
    *(FactType.ORDER_CANCELLED.value, REFUNDED),
    FactType.NOTICE_REQUESTED.value,
)
_WORDS = {
    FactType.HOLD_PENDING.value: "The Inventory Service was asked for its tickets",
    FactType.HOLD_FAILED.value: "Ended without its tickets",
    FactType.HOLD_WAITING.value: "Joined the waitlist",
    FactType.HOLD_PROMOTED.value: "Promoted from the waitlist",
    FactType.HOLD_EXPIRING.value: "About to expire",
    FactType.HOLD_CONVERTED.value: "Paid",
    FactType.NOTICE_REQUESTED.value: "E-mail sent again",
}
_REFUSED = {
    "hold.extend_failed": "Extension refused",
    "hold.release_failed": "Release refused",
    "hold.move_failed": "Move to other seats refused",
    "hold.convert_failed": "Payment refused",
    "checkout.start_failed": "Checkout refused",
}
_WHO = {
    "reaper": "",
    WAITLIST: "",
    "orders": "by a message from the shop",
    "demo": "by the demo",
}


class Step(NamedTuple):
    at: datetime
    what: str
    who: str = ""
    why: str = ""
    version: int | None = None  # None for a refused attempt

    def __str__(self) -> str:
        what = f"{self.what} {self.who}".strip()
        return f"{what}: {self.why}" if self.why else what


class Happened(NamedTuple):
    """What both the audit log and the facts say about a change."""

    type: str
    old: Mapping[str, Any]
    new: Mapping[str, Any]
    is_checkout: bool  # it started a checkout
    is_early: bool  # an operator ended the hold before its time was up


def steps_of(hold: Any) -> list[Step]:
    """The latest steps, oldest first; one more than is shown, if there are more."""
    request = current_request.get()
    if request is None or may(request, Scope.AUDIT_READ, hold.organization_id):
        return _from_audit(hold)
    return _from_facts(hold) if may(request, Scope.FACTS_READ, hold.organization_id) else []


def last_step(hold: Any) -> Step | None:
    """The last change. It tells those who may change the hold why they were refused."""
    changes = [step for step in _from_audit(hold) if step.version is not None]
    return changes[-1] if changes else None


def was_only_warned(hold: Any, seen_version: int) -> bool:
    """Whether nothing has happened since this version but the warning that its time runs out."""
    return bool(
        hold.version == seen_version + 1
        and hold.warn_at is None
        and _entries(hold, FactType.HOLD_EXPIRING).filter(new__version=hold.version).exists()
    )


def timeline(hold: Any) -> SafeString:
    steps = steps_of(hold)
    context = {
        "steps": [(iso(step.at), shown_time(step.at), step) for step in steps[-STEPS_SHOWN_MAX:]],
        "has_more": len(steps) > STEPS_SHOWN_MAX,
    }
    return render_to_string("holdfast/timeline.html", context)


def _from_audit(hold: Any) -> list[Step]:
    rows = _entries(hold, *_DONE, *_REFUSED).order_by("-at", "-seq")
    entries = list(rows[: STEPS_SHOWN_MAX + 1])[::-1]
    checkouts = _checkout_starts(hold)
    names = _names(hold.organization_id, (entry.actor for entry in entries))
    return [_step(hold, entry, checkouts, names) for entry in entries]


def _entries(hold: Any, *actions: str) -> Any:
    own = {"organization_id": hold.organization_id, "hold_id": hold.id}
    # The time tells which partitions to read.
    since = hold.created_at - _EARLIER
    return AuditEntry.objects.filter(**own, action__in=actions, at__gte=since)


def _step(hold: Any, entry: AuditEntry, checkouts: set[int], names: Mapping[UUID, str]) -> Step:
    who = f"{_who(entry, names)} {_where(hold, entry.action)}".strip()
    if entry.action in _REFUSED:
        tried = f"(tried {who})" if who else ""
        return Step(entry.at, _REFUSED[entry.action], tried, refused_because(entry.new))
    old, new = entry.old or {}, entry.new
    version = new.get("version")
    is_early = "as_operator" in new and datetime.fromisoformat(old["expires_at"]) > entry.at
    happened = Happened(entry.action, old, new, version in checkouts, is_early)
    if entry.action == FactType.HOLD_EXPIRED and not is_early:
        who = ""
    return Step(entry.at, _words(happened), who, redacted(new.get("reason", "")), version)


def _from_facts(hold: Any) -> list[Step]:
    facts = list(_facts(hold).order_by("-version")[: STEPS_SHOWN_MAX + 1])[::-1]
    checkouts = set(_starts((fact.version, fact.payload) for fact in facts))
    steps = []
    for fact in facts:
        payload = fact.payload
        old = {
            "expires_at": payload.get("previous_expires_at"),
            "quantity": payload.get("previous_quantity", payload.get("quantity")),
        }
        is_early = payload.get("reason") == "operator"
        happened = Happened(fact.type, old, payload, fact.version in checkouts, is_early)
        where = _where(hold, fact.type)
        steps.append(Step(fact.occurred_at, _words(happened), where, version=fact.version))
    return steps


def _facts(hold: Any) -> Any:
    own = {"organization_id": hold.organization_id, "hold_id": hold.id, "seat_id": None}
    return Fact.objects.filter(**own, type__in=_DONE)


def _checkout_starts(hold: Any) -> set[int]:
    """The versions in which a checkout started, which only the facts tell."""
    if hold.checkout_id is None:
        return set()
    kinds = (FactType.HOLD_EXTENDED.value, FactType.HOLD_CHANGED.value)
    rows = _facts(hold).filter(type__in=kinds).order_by("version")
    return set(_starts(rows.values_list("version", "payload")[:STEPS_SHOWN_MAX]))


def _starts(facts: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[int]:
    current = None
    for version, payload in facts:
        checkout_id = payload.get("checkout_id")
        if checkout_id is not None and checkout_id != current:
            current = checkout_id
            yield version


def _words(happened: Happened) -> str:
    if happened.type in _WORDS:
        return _WORDS[happened.type]
    match happened.type:
        case FactType.HOLD_CREATED:
            is_again = "replaces_hold_id" in happened.new
            return "Placed again" if is_again else "Placed"
        case FactType.HOLD_EXTENDED:
            return _extended(happened)
        case FactType.HOLD_CHANGED:
            return _changed(happened)
        case FactType.HOLD_EXPIRED:
            return "Ended early as expired" if happened.is_early else "Expired"
        case FactType.HOLD_CANCELLED:
            return _released(happened)
        case FactType.ORDER_CANCELLED:
            return f"{happened.new.get('quantity', 'Some')} of its tickets cancelled"
        case _:
            return f"Refund of {happened.new.get('quantity', 'some')} of its tickets recorded"


def _released(happened: Happened) -> str:
    # The fact of a party that leaves the waitlist frees nothing.
    was_waiting = happened.old.get("status") == "waiting" or happened.new.get("quantity") == 0
    if not was_waiting:
        return "Released"
    return "Removed from the waitlist" if "as_operator" in happened.new else "Left the waitlist"


def _extended(happened: Happened) -> str:
    before, after = (
        datetime.fromisoformat(each["expires_at"]) for each in (happened.old, happened.new)
    )
    at = " at checkout" if happened.is_checkout else ""
    return f"Extended{at} by {_duration(after - before)}"


def _changed(happened: Happened) -> str:
    if happened.is_checkout:
        return "Checkout started"
    old, new = happened.old, happened.new
    before, after = old.get("quantity"), new.get("quantity")
    if before != after:
        return f"Changed from {before} to {after} tickets"
    is_moved = "as_operator" in new and old.get("seat_ids") != new.get("seat_ids")
    return "Moved to other seats" if is_moved else "Changed"


def _duration(length: timedelta) -> str:
    minutes, seconds = divmod(int(length.total_seconds()), 60)
    parts = [(minutes, "minute"), (seconds, "second")]
    return " and ".join(f"{n} {unit}{'' if n == 1 else 's'}" for n, unit in parts if n)


def _where(hold: Any, action: str) -> str:
    """A hold that replaces another has its source, but was made elsewhere."""
    is_at_desk = hold.source == Source.DESK and hold.revives is None
    is_new = action in {FactType.HOLD_CREATED, FactType.HOLD_WAITING}
    return "at the desk" if is_new and is_at_desk else ""


def _who(entry: AuditEntry, names: Mapping[UUID, str]) -> str:
    kind, _, name = entry.actor.partition(":")
    for_whom = f" for {redacted(entry.acting_user)}" if entry.acting_user else ""
    match kind:
        case "key":
            key_id = uuid_or_none(name)
            known = names.get(key_id) if key_id else None
            return f"by {redacted(known or 'an API key')}{for_whom}"
        case "token":
            return "by the buyer"
        case "member":
            return f"by member {redacted(entry.acting_user or name)}"
        case "operator" if name:
            return f"by operator {redacted(name)}"
        case "operator":
            return f"by operator {redacted(entry.acting_user or '')}".strip() + " at the terminal"
        case _:
            return _WHO.get(entry.actor, f"by {redacted(entry.actor)}")


def _names(organization_id: UUID, actors: Iterable[str]) -> dict[UUID, str]:
    """The names of the API keys among the actors."""
    named = {uuid_or_none(actor[4:]) for actor in actors if actor.startswith("key:")}
    ids = [key_id for key_id in named if key_id is not None]
    if not ids:
        return {}
    keys = ApiKey.objects.filter(organization_id=organization_id, id__in=ids)
    return dict(keys.values_list("id", "name"))
