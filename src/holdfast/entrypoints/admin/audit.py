"""The audit log."""

from collections.abc import Callable
from datetime import UTC, datetime, time
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import OuterRef, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Cast, Concat
from django.http import HttpRequest
from django.utils.dateparse import parse_date, parse_time
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import ApiKey, AuditEntry
from holdfast.domain.group.transitions import FactType
from holdfast.domain.ids import OrganizationId
from holdfast.domain.orders.facts import REFUNDED
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.display import pretty_json, redacted, row_link
from holdfast.entrypoints.admin.exports.lists import ExportedAdmin
from holdfast.entrypoints.admin.history import HistoryAdmin
from holdfast.entrypoints.admin.holds.person_search import ORGANIZATION, PersonSearchAdmin
from holdfast.entrypoints.admin.lists import BY_ORGANIZATION, ChoiceFilter, text_column
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.api.http.codes import KINDS
from holdfast.ports.audit.exports import EXPORT_FINISHED, EXPORT_STARTED
from holdfast.ports.audit.reader import AuditFilter, AuditOutcome
from holdfast.services.audit import trail

if TYPE_CHECKING:  # django-unfold has no types; what we use of it is what Django declares
    DropdownFilter = admin.SimpleListFilter
    TextFilter = admin.SimpleListFilter
    RangeDateTimeFilter = admin.DateFieldListFilter
else:
    from unfold.contrib.filters.admin import DropdownFilter, RangeDateTimeFilter, TextFilter

# Orders are audited with their holds; changes of seats have action names of their own.
_NO_ACTIONS = {
    FactType.ORDER_CONFIRMED,
    FactType.SEAT_HELD,
    FactType.SEAT_RELEASED,
    FactType.SEAT_SOLD,
    FactType.TICKET_VOIDED,
}
ACTIONS = (
    *(kind.value for kind in FactType if kind not in _NO_ACTIONS),
    REFUNDED,
    *("seat_reserved", "seat_released", "seat_hold_expired", "seat_sold"),
    *("key.created", "key.rotated", "key.revoked", "organization.changed"),
    *("mail_template.changed", "mail_template.reset"),
    *("member.added", "member.changed", "member.removed", "member.joined"),
    *("member.logged_in", "member.login_failed", "member.logged_out", "member.session_ended"),
    *("member.two_factor_on", "member.two_factor_off"),
    *("token.issued", "tokens.revoked", "person.forgotten", "waitlist.served"),
    *(EXPORT_STARTED, EXPORT_FINISHED),
    # Refused attempts.
    *(
        "hold.create_failed",
        "hold.extend_failed",
        "hold.release_failed",
        "hold.move_failed",
        "hold.promote_failed",
        "hold.convert_failed",
        "order.cancel_failed",
        "order.refund_failed",
    ),
    *("checkout.start_failed", "seat_reserve_failed", "seat.block_failed", "seat.unblock_failed"),
    *("cart.fill_failed", "cart.renew_failed", "request.refused"),
)


def reason(new: dict[str, Any]) -> str:
    """Why an attempt was refused, in words; "-" if it was not."""
    code = new.get("error")
    if code is None:
        return "-"
    kind = KINDS.get(code)
    words = [kind.title if kind else str(code)]
    if "quantity" in new and "available_quantity" in new:
        words.append(f"asked for {new['quantity']}, available {new['available_quantity']}")
    if new.get("errors"):
        words.append(", ".join(f"{error['field']} ({error['code']})" for error in new["errors"]))
    if "times" in new:
        words.append(f"{new['times']} times")
    return "; ".join(words)


def acting_key(column: str) -> Subquery:
    """A column of the acting key, if there is one. Each key is compared: an organization has
    few."""
    actor = Concat(Value("key:"), Cast("id", TextField()), output_field=TextField())
    keys = ApiKey.objects.filter(organization_id=OuterRef("organization_id"))
    return Subquery(keys.annotate(actor=actor).filter(actor=OuterRef("actor")).values(column))


class ActionFilter(ChoiceFilter, DropdownFilter):
    title = parameter_name = column = "action"
    choices_offered = ACTIONS


class ActorFilter(TextFilter):
    """Matches whole values: with parts, people could guess what the pages redact."""

    title = "actor (whole)"
    parameter_name = "actor"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        wanted = (self.value() or "").strip()
        return queryset.filter(actor=wanted) if wanted else queryset


class SeatFilter(TextFilter):
    title = "seat id"
    parameter_name = "seat_id"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        wanted = (self.value() or "").strip()
        return queryset.filter(seat_id=uuid_or_none(wanted)) if wanted else queryset


class TimeFilter(RangeDateTimeFilter):
    """A date without a time means the whole day. Invalid input filters nothing."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        since, until = self._moment("from", time.min), self._moment("to", time.max)
        if since is not None:
            queryset = queryset.filter(at__gte=since)
        return queryset if until is None else queryset.filter(at__lte=until)

    def _moment(self, which: str, otherwise: time) -> datetime | None:
        day, clock = (self.used_parameters.get(f"at_{which}_{part}") or "" for part in (0, 1))
        try:
            date, at = parse_date(str(day)), parse_time(str(clock)) or otherwise
        except ValueError:
            return None
        return None if date is None else datetime.combine(date, at, UTC)


ENTRIES_FOUND_MAX = 500


def _uuid(text: str) -> object:
    found = uuid_or_none(text)
    if found is None:
        raise ValueError(text)
    return found


def _hashes(text: str) -> tuple[object, ...]:
    return tuple(map(_uuid, text.split(",")))


# By the name in the URL: the title, the field of the reader's filter, and how to read the text.
SEARCHES: dict[str, tuple[str, str, Callable[[str], object]]] = {
    "session": ("session id", "session_id", _uuid),
    "event": ("event id", "event_id", _uuid),
    "ticket_type": ("ticket type id", "ticket_type_id", _uuid),
    "order": ("order id", "order_id", _uuid),
    "cart": ("cart (whole)", "cart_token", str),
    "holder": ("customer's hash", "email_keys", _hashes),
    "user": ("customer's user id (whole)", "user_id", str),
    "acting_user": ("acting user (whole)", "acting_user", str),
    "request": ("request id", "request_id", str),
    "ip": ("IP address", "ip", lambda text: str(ip_address(text))),
    "user_agent": ("user agent (whole)", "user_agent", str),
    "error": ("error code", "error", str),
    "outcome": ("outcome: done or refused", "outcome", AuditOutcome),
}


class InvalidSearch(Exception):
    """The text is no valid value of its filter. The message is for the person who entered it."""


def asked_searches(request: HttpRequest) -> dict[str, str]:
    return {name: text for name in SEARCHES if (text := request.GET.get(name, "").strip())}


def search_of(asked: dict[str, str]) -> AuditFilter:
    """Raises InvalidSearch."""
    only: dict[str, Any] = {}
    for name, text in asked.items():
        title, field, parse = SEARCHES[name]
        try:
            only[field] = parse(text)
        except ValueError as error:
            raise InvalidSearch(f"That is not a valid value for: {title}.") from error
    return AuditFilter(**only)


class SearchFilter(TextFilter):
    """Searches like the API, in one organization and with its bounds. The first filter that is
    used searches for all of them."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        asked = asked_searches(request)
        if next(iter(asked), None) != self.parameter_name:
            return queryset
        organization_id = uuid_or_none(request.GET.get(ORGANIZATION, ""))
        if organization_id is None:
            messages.warning(request, "Choose an organization to search its audit log.")
            return queryset.none()
        try:
            only = search_of(asked)
        except InvalidSearch as error:
            messages.warning(request, str(error))
            return queryset.none()
        reader, own = AdminConfig.services.audit, OrganizationId(organization_id)
        found = trail.entries(reader, own, only, ENTRIES_FOUND_MAX, None)
        if isinstance(found, Refusal):
            messages.error(request, "The audit log could not be searched. Please try again.")
            return queryset.none()
        if found.next is not None:
            messages.info(request, "There may be older entries: narrow the search to see them.")
        numbers = [entry.seq for entry in found.entries]
        times = [entry.at for entry in found.entries]
        if not times:
            return queryset.none()
        # The times tell which partitions to read.
        return queryset.filter(
            organization_id=organization_id,
            seq__in=numbers,
            at__gte=min(times),
            at__lte=max(times),
        )


def _filter(name: str, title: str) -> type[SearchFilter]:
    return type("Filter", (SearchFilter,), {"parameter_name": name, "title": title})


SEARCH_FILTERS = tuple(_filter(name, title) for name, (title, _, _) in SEARCHES.items())


@admin.register(AuditEntry)
class AuditEntryAdmin(ExportedAdmin, PersonSearchAdmin, HistoryAdmin):
    export = "audit"
    hash_lookup = "holder"
    user_lookup = "user"
    list_display = ("seq", "at", "action", "why", "hold", "of_seat", "who", "ip", "organization")
    list_filter = (
        *BY_ORGANIZATION,
        *SEARCH_FILTERS,
        ActionFilter,
        ActorFilter,
        SeatFilter,
        ("at", TimeFilter),
    )
    ordering = ("-organization_id", "-at", "-seq")
    own_filters = frozenset(
        {"action", "actor", "at_from_0", "at_from_1", "at_to_0", "at_to_1", *SEARCHES}
    )
    fields = (
        ("action", "at"),
        "why",
        ("hold", "of_seat"),
        ("session_id", "in_cart"),
        "ticket_type_ids",
        "holder",
        "catalog_id",
        "key_id",
        "organization",
        ("who", "recorded_actor", "on_behalf_of"),
        ("request_id", "ip"),
        "agent",
        "seq",
        "before",
        "after",
    )

    # The value that the actor filter takes.
    recorded_actor = text_column("Recorded as", "actor")
    agent = text_column("User agent", "user_agent")
    in_cart = text_column("Cart", "cart")
    on_behalf_of = text_column("Acting user", "acting_user")

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup in self.own_filters or super().lookup_allowed(lookup, value, request)

    def annotations(self) -> dict[str, Any]:
        key = {"acting_key_id": acting_key("id"), "acting_key_name": acting_key("name")}
        return {**super().annotations(), **key}

    @admin.display(description="Actor")
    def who(self, entry: Any) -> SafeString | str:
        if entry.acting_key_id is None:
            return redacted(entry.actor)
        return row_link(ApiKey, entry.acting_key_id, entry.acting_key_name)

    @admin.display(description="Refused because")
    def why(self, entry: AuditEntry) -> str:
        return reason(entry.new)

    @admin.display(description="Before")
    def before(self, entry: AuditEntry) -> str | SafeString:
        return pretty_json(entry.old)

    @admin.display(description="After")
    def after(self, entry: AuditEntry) -> str | SafeString:
        return pretty_json(entry.new)
