"""Statistics of holds. Every call blocks."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

from holdfast.domain import refusals
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.catalog import CatalogStore
from holdfast.ports.holds import HoldReader
from holdfast.ports.statistics import (
    HoldStatistics,
    SaleHistory,
    SaleStatistics,
    SaleStatisticsReader,
)
from holdfast.services.reads import found, read

EXPIRING_SOON = timedelta(minutes=5)
DAY_HOURS = 24
HOURS_MAX = 7 * DAY_HOURS
# Counting fewer than 10,000 holds is quick, so their count is not cached.
KEPT_SECONDS_PER_10_000 = 0.5
KEPT_SECONDS_MAX = 30.0
COUNTS_KEPT_MAX = 1_000


@immutable
class Statistics:
    """The current holds, and the outcomes of the last hours."""

    now: HoldStatistics
    sale: SaleStatistics


@immutable
class CountedSale:
    """One count, which serves any number of hours up to its key's `hours_max`."""

    now: HoldStatistics
    history: SaleHistory

    def last(self, hours: int) -> Statistics:
        return Statistics(self.now, self.history.last(hours))

    @property
    def kept_seconds(self) -> float:
        """Grows with the number of holds, as counting does, to keep polling from loading the
        database."""
        now = self.now
        open_now = now.active + now.lapsed + now.waiting + now.lapsed_waiting
        thousands = (open_now + self.history.holds) // 1_000
        return min(KEPT_SECONDS_MAX, thousands // 10 * KEPT_SECONDS_PER_10_000)


class StatisticsKey(NamedTuple):
    """All sessions or one; the last day or the longest period allowed."""

    organization_id: OrganizationId
    session_id: SessionId | None
    hours_max: int


def statistics_key(
    organization_id: OrganizationId, session_id: SessionId | None, hours: int
) -> StatisticsKey:
    """Different numbers of hours share one count."""
    hours_max = DAY_HOURS if hours <= DAY_HOURS else HOURS_MAX
    return StatisticsKey(organization_id, session_id, hours_max)


class SaleCounter:
    """Counts holds and caches large counts. Thread-safe."""

    def __init__(
        self,
        catalog: CatalogStore,
        holds: HoldReader,
        sales: SaleStatisticsReader,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._catalog = catalog
        self._holds = holds
        self._sales = sales
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[StatisticsKey, tuple[float, CountedSale]] = OrderedDict()

    def count(self, key: StatisticsKey) -> CountedSale | Refusal:
        with self._lock:
            until, known = self._kept.get(key, (0.0, None))
        if known is not None and self._clock() < until:
            return known
        counted = self._count(key)
        if isinstance(counted, CountedSale) and counted.kept_seconds:
            self._keep(key, counted)
        return counted

    def _count(self, key: StatisticsKey) -> CountedSale | Refusal:
        organization_id, session_id, hours_max = key
        if session_id is not None:
            session = found(
                lambda: self._catalog.session(organization_id, session_id),
                refusals.invalid_session,
            )
            if isinstance(session, Refusal):
                return session
        now = read(lambda: self._holds.statistics(organization_id, session_id, EXPIRING_SOON))
        if isinstance(now, Refusal):
            return now
        history = read(lambda: self._sales.history(organization_id, session_id, hours_max))
        return history if isinstance(history, Refusal) else CountedSale(now, history)

    def _keep(self, key: StatisticsKey, counted: CountedSale) -> None:
        with self._lock:
            self._kept[key] = (self._clock() + counted.kept_seconds, counted)
            self._kept.move_to_end(key)
            while len(self._kept) > COUNTS_KEPT_MAX:
                self._kept.popitem(last=False)
