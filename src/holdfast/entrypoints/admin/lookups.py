"""Finds related rows, and rows that a user searches for."""

from typing import Any
from uuid import UUID

from django.db.models import F, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Concat

from holdfast.adapters.postgres.models import Hold, Seat

HOLDS_FOUND_MAX = 20


def name_of(rows: QuerySet[Any], column: str) -> Subquery:
    """The name of the row that a column points to. It is looked up for the rows shown; a join would
    be planned for all rows, and badly before the tables have statistics."""
    own = {"organization_id": OuterRef("organization_id"), "id": OuterRef(column)}
    return Subquery(rows.filter(**own).values("name"))


def seat_name() -> Subquery:
    """The readable name of a row's seat."""
    own = {"organization_id": OuterRef("organization_id"), "id": OuterRef("seat_id")}
    parts = (F("block__name"), Value(", row "), "row_name", Value(", seat "), "number")
    named = Seat.objects.filter(**own).annotate(name=Concat(*parts, output_field=TextField()))
    return Subquery(named.values("name"))


def hold_reference() -> Subquery:
    """The reference of a row's hold."""
    own = {"organization_id": OuterRef("organization_id"), "id": OuterRef("hold_id")}
    return Subquery(Hold.objects.filter(**own).values("reference"))


def uuid_or_none(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def holds_named(term: str) -> QuerySet[Hold]:
    """The holds with this id or reference."""
    hold_id = uuid_or_none(term)
    name = Q(pk=hold_id) if hold_id else Q(reference=term.strip().upper())
    return Hold.objects.filter(name).select_related("organization")[:HOLDS_FOUND_MAX]


def of_hold_named(term: str, *, id_column: str) -> Q:
    """Rows of the hold with this id or reference. The hold is found first, so that each table can
    use its index by organization and hold."""
    rows = Q(pk__in=())
    for hold in holds_named(term):
        rows |= Q(organization_id=hold.organization_id, **{id_column: hold.id})
    return rows
