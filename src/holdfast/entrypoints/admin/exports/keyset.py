"""Reads a list page by page, newest first, each page with a short query of its own: no transaction
and no cursor stays open, and memory is bounded by a page."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Q, QuerySet

PAGE_ROWS = 500
# With fewer rows, their keys are read at once, through whichever index fits the filter.
FEW_ROWS = 10_000

Key = tuple[Any, Any]


def pages(rows: QuerySet[Any], everything: QuerySet[Any], columns: Key) -> Iterator[list[Any]]:
    """The pages of `rows`, which are some of `everything`: rows that an index has in the order of
    `columns`, a time and an id. A filter that fits few of very many rows has no index, so a page of
    `everything` is examined at a time."""
    at, id_ = columns
    newest_first = (f"-{at}", f"-{id_}")
    keys = list(rows.order_by(*newest_first).values_list(at, id_)[:FEW_ROWS])
    if len(keys) < FEW_ROWS:
        for start in range(0, len(keys), PAGE_ROWS):
            part = keys[start : start + PAGE_ROWS]
            # The times tell which partitions to read.
            own = Q(**{f"{at}__lte": part[0][0], f"{at}__gte": part[-1][0]})
            own &= Q(**{f"{id_}__in": [key for _, key in part]})
            yield list(rows.filter(own).order_by(*newest_first))
        return
    after = Q()
    while True:
        rest = everything.filter(after).order_by(*newest_first).values_list(at, id_)
        edge = list(rest[PAGE_ROWS - 1 : PAGE_ROWS])
        until = _not_older(columns, edge[0]) if edge else Q()
        yield list(rows.filter(after, until).order_by(*newest_first))
        if not edge:
            return
        after = _older(columns, edge[0])


def _older(columns: Key, key: Key) -> Q:
    """The first part finds the place in the index."""
    (at, id_), (moment, last) = columns, key
    return Q(**{f"{at}__lte": moment}) & (Q(**{f"{at}__lt": moment}) | Q(**{f"{id_}__lt": last}))


def _not_older(columns: Key, key: Key) -> Q:
    (at, id_), (moment, last) = columns, key
    return Q(**{f"{at}__gte": moment}) & (Q(**{f"{at}__gt": moment}) | Q(**{f"{id_}__gte": last}))
