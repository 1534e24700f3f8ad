"""How much is held, and how full an event is. Every call blocks."""

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from holdfast.domain import refusals
from holdfast.domain.ids import EventId, OrganizationId, SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.catalogue import CatalogueStore
from holdfast.ports.holds import HoldReader, HoldStatistics
from holdfast.ports.seats import EventOccupancy, SeatReader
from holdfast.ports.statistics import SaleStatistics, SaleStatisticsReader
from holdfast.services.reading import found, read

EXPIRING_SOON = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Holds at this moment, and what became of those of the last hours."""

    now: HoldStatistics
    sale: SaleStatistics


class StatisticsKey(NamedTuple):
    """Of all sessions, or of one; and so many hours back."""

    organization_id: OrganizationId
    session_id: SessionId | None
    hours: int


def statistics(
    catalogue: CatalogueStore, holds: HoldReader, sales: SaleStatisticsReader, key: StatisticsKey
) -> Statistics | Refusal:
    organization_id, session_id, hours = key
    if session_id is not None:
        session = found(
            lambda: catalogue.session(organization_id, session_id), refusals.invalid_session
        )
        if isinstance(session, Refusal):
            return session
    window = timedelta(hours=hours)
    now = read(lambda: holds.statistics(organization_id, session_id, EXPIRING_SOON))
    if isinstance(now, Refusal):
        return now
    sale = read(lambda: sales.sale(organization_id, session_id, window))
    return sale if isinstance(sale, Refusal) else Statistics(now, sale)


def occupancy(
    reader: SeatReader, organization_id: OrganizationId, event_id: EventId
) -> EventOccupancy | Refusal:
    return found(lambda: reader.occupancy(organization_id, event_id), refusals.event_not_found)
