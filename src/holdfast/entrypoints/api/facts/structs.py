"""Requests about facts."""

from holdfast.entrypoints.api.http.fields import Limit
from holdfast.entrypoints.api.http.shapes import PageQuery
from holdfast.ports.paging import PAGE_SIZE_MAX


class FactsQuery(PageQuery, frozen=True):
    """Without a cursor, starts with the oldest fact kept."""

    limit: Limit = PAGE_SIZE_MAX
