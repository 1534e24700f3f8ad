"""The admin pages: operators look at every organization and change nothing here.

Everything acts by commands through the engine, never by writing rows, so there is no add, no
change and no delete. The database stands behind that: the role of these pages may only read.

Tables of holds, facts and audit entries grow without end. Their lists are therefore read in the
order of an index, are counted only up to a limit, and are searched by whole values.
"""

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Case, F, IntegerField, Model, OuterRef, Q, QuerySet, Subquery
from django.db.models import Sum, Value, When
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from holdfast.adapters.postgres.models import (
    ApiKey,
    AuditEntry,
    Event,
    Fact,
    Hold,
    HoldLine,
    Organization,
    OrganizationRow,
    Pool,
    PoolLapse,
    Session,
    TicketType,
    TicketTypePool,
)
from holdfast.domain.hold import HoldStatus
from holdfast.domain.transitions import FactType

if TYPE_CHECKING:  # django-unfold has no types; what we use of it is Django's own interface
    from django.contrib.admin import ModelAdmin
    from django.contrib.admin import RelatedFieldListFilter as AutocompleteSelectFilter
else:
    from unfold.admin import ModelAdmin
    from unfold.contrib.filters.admin import AutocompleteSelectFilter

RowType = TypeVar("RowType", bound=Model)

ROWS_COUNTED_MAX = 10_000
_STATUS_COLOURS = {
    HoldStatus.ACTIVE: "info",
    HoldStatus.CONVERTED: "success",
    HoldStatus.EXPIRED: "warning",
    HoldStatus.CANCELLED: "danger",
}
_EMAIL = re.compile(r"([^\s@\"'<>(),;:])[^\s@\"'<>(),;:]*@(?=[^\s@])")
# ISO 4217 currencies whose minor unit is not a hundredth.
_DECIMALS = dict.fromkeys(
    "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(), 0
) | dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3)


def redacted(text: str) -> str:
    """The text with each e-mail address in it as `u***@example.com`."""
    return _EMAIL.sub(r"\1***@", text)


def amount(minor: int, currency: str) -> str:
    """An amount as people write it, such as `12.50 EUR`."""
    decimals = _DECIMALS.get(currency, 2)
    if not decimals:
        return f"{minor} {currency}"
    whole, part = divmod(minor, 10**decimals)
    return f"{whole}.{part:0{decimals}} {currency}"
