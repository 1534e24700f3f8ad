"""The pages: what was found, a person, and refused attempts."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache

from holdfast.adapters.postgres.models import AuditEntry, Hold, Order, Organization, Session
from holdfast.domain.access.scopes import Scope
from holdfast.entrypoints.admin.display import list_link, redacted
from holdfast.entrypoints.admin.find import attempts, rows
from holdfast.entrypoints.admin.find.people import Person, list_lookups
from holdfast.entrypoints.admin.find.rows import Group
from holdfast.entrypoints.admin.find.sealed_search import opened, sealed
from holdfast.entrypoints.admin.find.search import Search
from holdfast.entrypoints.admin.find.seats import SESSIONS_MAX
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.people.rights import is_operator, may, require, roles_of

ORGANIZATIONS_SEARCHED_MAX = 100
TEXT_LENGTH_MAX = 255


class FindForm(forms.Form):
    """Refuses what no row can contain, such as null characters."""

    find = forms.CharField(
        max_length=TEXT_LENGTH_MAX,
        error_messages={
            "required": "Enter what you are looking for.",
            "max_length": f"Enter at most {TEXT_LENGTH_MAX} characters.",
        },
    )
    organization = forms.UUIDField(required=False)


def find(request: HttpRequest) -> HttpResponse:
    """The search is posted: URLs end up in logs. A single match leads to its page; otherwise the
    results have a URL with the encrypted text, so that a browser can go back to them."""
    if request.method == "POST":
        return _posted(request)
    user: Any = request.user
    token = request.GET.get("for")
    text = "" if token is None else opened(token, user.pk)
    if text is None:
        messages.warning(
            request, "This link belongs to somebody else or is no longer valid. Search again."
        )
        text = ""
    chosen = uuid_or_none(request.GET.get("organization", ""))
    every, is_cut_off = _organizations(request)
    search = Search(request, _chosen(request, every, chosen), text)
    groups = search.groups() if text else []
    context = {
        "title": "Find",
        "find_text": text,
        "looked_for": redacted(text),
        "groups": groups,
        "are_seats_cut_off": search.are_seats_cut_off,
        "sessions_max": SESSIONS_MAX,
        "organizations": every if len(every) > 1 else (),
        "chosen": chosen,
        "is_cut_off": is_cut_off and chosen is None,
        "organizations_max": ORGANIZATIONS_SEARCHED_MAX,
        "rows_max": rows.ROWS_MAX,
    }
    return _page(request, "holdfast/find.html", **context)


def _posted(request: HttpRequest) -> HttpResponse:
    form = FindForm(request.POST)
    if not form.is_valid():
        problem = next(iter(form.errors.values()))[0]
        messages.warning(request, str(problem))
        return HttpResponseRedirect(reverse("find"))
    user: Any = request.user
    text, chosen = form.cleaned_data["find"], form.cleaned_data["organization"]
    searched = _chosen(request, _organizations(request)[0], chosen)
    matches = [m for group in Search(request, searched, text).groups() for m in group.matches]
    if len(matches) == 1:
        return HttpResponseRedirect(matches[0].url)
    named = {"for": sealed(text, user.pk), **({"organization": chosen} if chosen else {})}
    return HttpResponseRedirect(f"{reverse('find')}?{urlencode(named)}")


def _organizations(request: HttpRequest) -> tuple[list[Organization], bool]:
    """Those of the person, and whether there are more than are searched at once."""
    found = Organization.objects.order_by("name", "mode", "id")
    if not is_operator(request):
        found = found.filter(id__in=roles_of(request))
    some = list(found[: ORGANIZATIONS_SEARCHED_MAX + 1])
    return some[:ORGANIZATIONS_SEARCHED_MAX], len(some) > ORGANIZATIONS_SEARCHED_MAX


def _chosen(
    request: HttpRequest, every: list[Organization], chosen: UUID | None
) -> list[Organization]:
    """Operators may choose one that is not among the first."""
    if chosen is None:
        return every
    if not is_operator(request) and chosen not in roles_of(request):
        raise PermissionDenied
    return list(Organization.objects.filter(id=chosen))


def person_page(request: HttpRequest) -> HttpResponse:
    person = Person.of_query(request.GET)
    own = person.organization_id
    require(request, Scope.HOLDS_READ, own)
    holds = rows.holds_matching(person.rows, *rows.NEWEST_FIRST)
    groups = [Group.of("Holds", rows.HOLD_HEADERS, holds)]
    if may(request, Scope.ORDERS_READ, own):
        orders = rows.orders_matching(person.rows, *rows.NEWEST_FIRST)
        groups.append(Group.of("Orders", rows.ORDER_HEADERS, orders))
    context = {
        "groups": groups,
        "rows_max": rows.ROWS_MAX,
        "more": _lists_of(person),
        "attempts": f"{reverse('find-attempts')}?{person.query}",
        "may_read_audit": may(request, Scope.AUDIT_READ, own),
        "organization": Organization.objects.filter(id=own).first(),
    }
    return _page(request, "holdfast/person.html", title=_name(person), **context)


def _lists_of(person: Person) -> list[Any]:
    """Links to the lists with all rows of the person, where filters can narrow them."""
    links = []
    for model, text in ((Hold, "All holds"), (Order, "All orders")):
        lookups = list_lookups(person, "email_key__in", "user_id__exact")
        links.append(list_link(model, text, person, **lookups))
    lookups = list_lookups(person, "holder", "user")
    return [each for each in (*links, list_link(AuditEntry, "Audit", person, **lookups)) if each]


def _name(person: Person) -> str:
    holds = Hold.objects.filter(person.rows)[:1]
    return rows.shown_person(person, [*holds, *Order.objects.filter(person.rows)[:1]])


def attempts_page(request: HttpRequest) -> HttpResponse:
    """Of a person, of a session, or of one customer in a session."""
    own = uuid_or_none(request.GET.get("organization", ""))
    if own is None:
        raise Http404
    require(request, Scope.AUDIT_READ, own)
    session_id = uuid_or_none(request.GET.get("session", ""))
    try:
        if session_id is None:
            return _attempts_of_person(request, Person.of_query(request.GET))
        return _attempts_in_session(request, own, session_id)
    except attempts.AuditUnavailable:
        messages.error(request, "The audit log could not be read. Please try again.")
        return _page(request, "holdfast/attempts.html", title="Refused attempts", found=None)


def _attempts_of_person(request: HttpRequest, person: Person) -> HttpResponse:
    context = {
        "title": "Refused attempts of one customer",
        "subject": _name(person),
        "subject_url": person.url,
        "found": attempts.attempts_of_person(person),
        "log": list_link(AuditEntry, "audit log", person, **list_lookups(person, "holder", "user")),
    }
    return _page(request, "holdfast/attempts.html", **context)


def _attempts_in_session(request: HttpRequest, own: UUID, session_id: UUID) -> HttpResponse:
    found = Session.objects.filter(organization_id=own, id=session_id).select_related("event")
    session = found.first()
    if session is None:
        raise Http404
    holder = uuid_or_none(request.GET.get("holder", ""))
    whole = {"organization": own, "session": session_id}
    context = {
        "title": "Refused attempts" if holder is None else "Refused attempts of one customer",
        "subject": f"{session.event}: {session}",
        "subject_url": reverse("admin:holdfast_session_change", args=[session_id]),
        "found": attempts.attempts_in_session(own, session_id, holder),
        "of_one": None if holder is not None else f"?{urlencode(whole)}&holder=",
        "of_all": None if holder is None else f"?{urlencode(whole)}",
        "log": list_link(AuditEntry, "audit log", session, session=session_id, outcome="refused"),
    }
    return _page(request, "holdfast/attempts.html", **context)


def _page(request: HttpRequest, template: str, **texts: Any) -> HttpResponse:
    return TemplateResponse(request, template, {**admin.site.each_context(request), **texts})


def _guarded(view: Any) -> Any:
    return never_cache(admin.site.admin_view(view))


FIND_URLS: list[URLPattern] = [
    path("", _guarded(find), name="find"),
    path("person/", _guarded(person_page), name="find-person"),
    path("attempts/", _guarded(attempts_page), name="find-attempts"),
]
