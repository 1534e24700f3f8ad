"""Hold policies: each field with the value in force and the level that it comes from, and the
fields of the forms that override it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import Event, Organization, TicketType
from holdfast.domain.ids import EventId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.policy import POLICY_FIELDS, HoldPolicy, PolicyOverride, nearest_policy
from holdfast.entrypoints.admin.catalog.fields import NumberInput, Select
from holdfast.entrypoints.admin.catalog.forms import (
    CatalogForm,
    done,
    editor_of,
    page_of,
    show,
)

_NAMES = tuple(POLICY_FIELDS)
POLICY = tuple(_NAMES[number : number + 2] for number in range(0, len(_NAMES), 2))  # two in a row
DEFAULT = "default"
_ZERO = re.compile(r"; 0(?:: ([a-z ]+)| turns it (off))")


@immutable
class Level:
    """A level of overrides and what it is called: "the organization", "this event"."""

    name: str
    override: PolicyOverride


@immutable
class Effective:
    """The value in force of one field, and the name of the level that sets it."""

    value: int
    source: str

    def written(self, name: str) -> str:
        """`10 min, default` or `5 min, from this event`"""
        source = self.source if self.source == DEFAULT else f"from {self.source}"
        return f"{written_value(name, self.value)}, {source}"


def written_value(name: str, value: int) -> str:
    """`10 min`, `1 h 30 min`, `on`, `4`"""
    if POLICY_FIELDS[name].bounds is None:
        return "on" if value else "off"
    # Such as "no limit" or "never", from the meaning that the API documents.
    if not value and (nothing := _ZERO.search(POLICY_FIELDS[name].meaning)):
        return str(nothing[1] or nothing[2])
    if not name.endswith("_seconds"):
        return str(value)
    parts = []
    rest = value
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, rest = divmod(rest, seconds)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts) or "0 s"


def override_of(row: Organization | Event | TicketType) -> PolicyOverride:
    return PolicyOverride(**{name: getattr(row, name) for name in POLICY_FIELDS})


def levels_of(row: Any) -> tuple[Level, ...]:
    """The levels that apply to a row, the widest first and its own last."""
    if isinstance(row, Organization):
        return (Level("the organization", override_of(row)),)
    if isinstance(row, Event):
        return (*levels_of(row.organization), Level("this event", override_of(row)))
    event = Level("the event", override_of(row.session.event))
    own = Level("this ticket type", override_of(row))
    return (*levels_of(row.organization), event, own)


def effective_policy(levels: Iterable[Level]) -> dict[str, Effective]:
    levels = tuple(levels)
    policy, defaults = nearest_policy(*(level.override for level in levels)), HoldPolicy()
    found = {}
    for name in POLICY_FIELDS:
        value, source = getattr(defaults, name), DEFAULT
        for level in levels:
            if name in level.override.values:
                value, source = level.override.values[name], level.name
        in_force = getattr(policy, name)
        # A hold time above the maximum lifetime raises the latter.
        if in_force != value:
            source = "the hold time plus the checkout extension"
        found[name] = Effective(in_force, source)
    return found


def policy_table(row: Event | TicketType) -> SafeString:
    rows = (
        (POLICY_FIELDS[name].label.removesuffix(" (s)").capitalize(), each.written(name))
        for name, each in effective_policy(levels_of(row)).items()
    )
    listed = format_html_join("", "<dt>{}</dt><dd>{}</dd>", rows)
    return format_html('<dl class="catalog-values">{}</dl>', listed)


def add_policy_fields(form: forms.Form, inherited: Mapping[str, Effective]) -> None:
    """One optional field for each field of a policy. An empty one inherits."""
    for name, field in POLICY_FIELDS.items():
        written = inherited[name].written(name)
        if field.bounds is None:
            choices = (("", f"Inherit ({written})"), ("true", "On"), ("false", "Off"))
            form.fields[name] = forms.ChoiceField(choices=choices, required=False, widget=Select())
        else:
            form.fields[name] = forms.IntegerField(
                required=False,
                min_value=field.bounds.least,
                max_value=field.bounds.most,
                widget=NumberInput(attrs={"placeholder": inherited[name].value}),
            )
        form.fields[name].label = field.label.capitalize()
        form.fields[name].help_text = f"{field.meaning} If empty: {written}."


def shown_policy(override: PolicyOverride) -> dict[str, Any]:
    """The values of the fields of a form."""
    return {name: _shown(value) for name, value in override.by_name().items()}


def _shown(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def policy_value(value: Any) -> int | None:
    """What a field of a form means."""
    if value in {"true", "false"}:
        return bool(value == "true")
    return None if value in {None, ""} else int(value)


def policy_given(form: forms.Form) -> PolicyOverride:
    """The overrides of a valid form."""
    return PolicyOverride(**{name: policy_value(form.cleaned_data[name]) for name in POLICY_FIELDS})


class PolicyForm(CatalogForm):
    def __init__(self, request: HttpRequest, row: Any, **more: Any) -> None:
        super().__init__(request, row, initial=shown_policy(override_of(row)), **more)
        add_policy_fields(self, effective_policy(levels_of(row)[:-1]))


def change_policy(request: HttpRequest, row: Event | TicketType) -> HttpResponse:
    form = PolicyForm(request, row)
    if form.is_valid():
        change = {
            name: policy_value(form.cleaned_data[name])
            for name in form.changed_data
            if name in POLICY_FIELDS
        }
        editor = editor_of(request, form, row, "Policy changed in the admin")
        if isinstance(row, Event):
            answer = editor.change_event(EventId(row.id), None, change or None, None)
        else:
            answer = editor.change_ticket_type(
                ticket_type_id=TicketTypeId(row.id),
                name=None,
                price_minor=None,
                pool_ids=None,
                policy=change or None,
            )
        if form.take(answer) is not None:
            return done(request, f"The hold policy of {row} is saved.", page_of(row))
    return show(
        request,
        form,
        title=f"Hold policy of {row}",
        consequence="Applies to new holds and extensions. Existing holds keep their time. Clear a "
        "field to inherit it again.",
        button="Save policy",
        back=page_of(row),
    )
