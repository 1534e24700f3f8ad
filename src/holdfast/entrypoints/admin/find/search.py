"""Looks for everything that a text may name. Every query is bounded and uses an index; only a seat
is found by reading the seats of its session."""

import re
from collections.abc import Iterator, Sequence
from uuid import UUID

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse

from holdfast.adapters.postgres.models import Hold, Order, Organization
from holdfast.domain.access.scopes import Scope
from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import InvalidValue
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.display import link
from holdfast.entrypoints.admin.find import rows
from holdfast.entrypoints.admin.find.attempts import was_refused
from holdfast.entrypoints.admin.find.people import Person
from holdfast.entrypoints.admin.find.rows import Group, Match
from holdfast.entrypoints.admin.find.seats import found_seats, names_in
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.people.rights import may
from holdfast.services import reads

# Longer than any reference.
_TICKET_CODE = re.compile(r"[A-Z0-9]{20,64}")
_REFERENCE = re.compile(r"[A-Z0-9]{1,20}")
_PERSON_HEADERS = ("Person", "Holds", "Orders", "Refused attempts")


class Search:
    """Finds a text in those of the organizations where the person may see the kind of row."""

    def __init__(
        self, request: HttpRequest, organizations: Sequence[Organization], text: str
    ) -> None:
        self._request = request
        self._organizations = {each.id: each for each in organizations}
        self._text = text
        self._id = uuid_or_none(text)
        self.are_seats_cut_off = False

    def groups(self) -> list[Group]:
        """Those with a match. If several organizations are searched, each match names its own."""
        every = (
            Group.of("Holds", rows.HOLD_HEADERS, self._holds()),
            Group.of("Orders", rows.ORDER_HEADERS, self._orders()),
            Group.of("Tickets", rows.TICKET_HEADERS, self._tickets()),
            self._seats(),
            Group.of("People", _PERSON_HEADERS, self._people()),
        )
        found = [group for group in every if group.matches]
        return found if len(self._organizations) == 1 else list(map(self._with_organization, found))

    def _holds(self) -> list[Match]:
        reference = self._text.upper()
        if self._id is None and not _REFERENCE.fullmatch(reference):
            return []
        named = Q(id=self._id) if self._id else Q(reference=reference)
        return rows.holds_matching(named & self._own(Scope.HOLDS_READ))

    def _orders(self) -> list[Match]:
        own = self._own(Scope.ORDERS_READ)
        named = own & Q(payment_reference=self._text)
        return rows.orders_matching(named | (own & Q(id=self._id)) if self._id else named)

    def _tickets(self) -> list[Match]:
        """The admin's role may not read codes: a service looks them up."""
        code = re.sub(r"[\s-]+", "", self._text).upper()
        if not _TICKET_CODE.fullmatch(code):
            return []
        own = [OrganizationId(id_) for id_ in self._ids(Scope.ORDERS_READ)]
        found = reads.read(lambda: AdminConfig.services.orders.tickets_with_code(own, code))
        if isinstance(found, Refusal):
            messages.error(self._request, "Ticket codes could not be looked up. Please try again.")
            return []
        if not found:
            return []
        named = Q()
        for organization_id, ticket_id in found:
            named |= Q(organization_id=organization_id, id=ticket_id)
        return rows.tickets_matching(named)

    def _seats(self) -> Group:
        if self._id is not None:
            named = Q(id=self._id) & self._own(Scope.CATALOG_READ)
            return Group.of("Seats", rows.SEAT_HEADERS, rows.seats_matching(named))
        own = self._ids(Scope.CATALOG_READ)
        seats, is_cut_off = found_seats(own, names_in(self._text), rows.ROWS_MAX)
        is_full = len(seats) == rows.ROWS_MAX
        self.are_seats_cut_off = is_cut_off and not is_full
        return Group("Seats", rows.SEAT_HEADERS, rows.seats_shown(seats), is_cut_off and is_full)

    def _people(self) -> Iterator[Match]:
        for organization_id in self._ids(Scope.HOLDS_READ):
            try:
                person = Person.named(organization_id, self._text)
            except InvalidValue:
                return
            found = self._known(person)
            if found is not None:
                yield found

    def _known(self, person: Person) -> Match | None:
        """None if nothing is known about the person in this organization."""
        own, some = person.organization_id, rows.ROWS_MAX + 1
        holds, orders = list(Hold.objects.filter(person.rows)[:some]), list[Order]()
        if may(self._request, Scope.ORDERS_READ, own):
            orders = list(Order.objects.filter(person.rows)[:some])
        is_refused = may(self._request, Scope.AUDIT_READ, own) and was_refused(person)
        if not holds and not orders and not is_refused:
            return None
        attempts = link(f"{reverse('find-attempts')}?{person.query}", "Refused attempts")
        cells = (
            link(person.url, rows.shown_person(person, (*holds, *orders))),
            _counted(holds),
            _counted(orders),
            attempts if is_refused else "-",
        )
        return Match(own, person.url, cells)

    def _ids(self, scope: Scope) -> list[UUID]:
        return [id_ for id_ in self._organizations if may(self._request, scope, id_)]

    def _own(self, scope: Scope) -> Q:
        return Q(organization_id__in=self._ids(scope))

    def _with_organization(self, group: Group) -> Group:
        matches = [
            match._replace(cells=(*match.cells, self._shown(match.organization_id)))
            for match in group.matches
        ]
        return group._replace(headers=(*group.headers, "Organization"), matches=matches)

    def _shown(self, organization_id: UUID) -> str:
        own = self._organizations[organization_id]
        return f"{own} ({own.mode})"


def _counted(found: Sequence[object]) -> str:
    return f"{rows.ROWS_MAX} or more" if len(found) > rows.ROWS_MAX else str(len(found))
