"""Formats values, links and tables."""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Model
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import Seat
from holdfast.domain.amounts import written
from holdfast.domain.values import Money
from holdfast.entrypoints.admin.people.rights import shows_links_to

_EMAIL = re.compile(r'([^\s@"<>(),;:\\])[^\s@"<>(),;:\\]*@')


def redacted(text: str) -> str:
    """The text with e-mail addresses shortened to `u***@example.com`."""
    return _EMAIL.sub(r"\1***@", text)


def amount(minor: int, currency: str) -> str:
    """An amount such as `12.50 EUR`, without a line break."""
    return written(Money(minor, currency)).replace(" ", "\N{NO-BREAK SPACE}")


def shown_time(moment: datetime) -> str:
    """The time in UTC, formatted as in lists."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def badge(text: str, colour: str = "") -> SafeString:
    return render_to_string("unfold/helpers/label.html", {"text": text, "type": colour})


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> SafeString:
    context = {"table": {"headers": headers, "rows": list(rows)}}
    return render_to_string("unfold/components/table.html", context)


def wrapped(text: str) -> SafeString:
    """User text, which may be one long word."""
    return format_html('<span style="overflow-wrap: anywhere">{}</span>', redacted(text))


def pretty_json(value: object) -> str | SafeString:
    """JSON for people, without e-mail addresses."""
    if value is None:
        return "-"
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    style = "white-space: pre-wrap; overflow-wrap: anywhere"
    return format_html('<pre style="{}">{}</pre>', style, redacted(text))


def link(url: str, text: object) -> SafeString:
    return format_html('<a class="text-link" href="{}">{}</a>', url, text)


def list_link(model: type[Model], text: str, row: Any, **columns: object) -> SafeString:
    """A link to the rows of `model` in the row's organization that have these values, for those who
    may see them."""
    if not shows_links_to(model, row.organization_id):
        return SafeString("")
    url = reverse(f"admin:holdfast_{model.__name__.lower()}_changelist")
    lookups = {"organization__id__exact": row.organization_id, **columns}
    return link(f"{url}?{urlencode(lookups)}", text)


def row_link(
    model: type[Model], row_id: UUID, text: object, organization_id: UUID | None = None
) -> SafeString:
    """Give the organization if the id alone is ambiguous. Those who may not open the page see the
    text alone."""
    if not shows_links_to(model, organization_id):
        return format_html("{}", text)
    url = reverse(f"admin:holdfast_{model.__name__.lower()}_change", args=[row_id])
    return link(f"{url}?organization={organization_id}" if organization_id else url, text)


def seat_link(row: Any) -> SafeString | str:
    return "-" if row.seat_id is None else row_link(Seat, row.seat_id, row.seat_name)


def in_a_row(links: Iterable[SafeString]) -> SafeString:
    return format_html_join(" \N{MIDDLE DOT} ", "{}", ((one,) for one in links if one))
