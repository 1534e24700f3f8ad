"""How much is held, and how full an event is. Every call blocks."""

from datetime import timedelta

from holdfast.domain import refusals
from holdfast.domain.ids import EventId, OrganizationId, SessionId
from holdfast.domain.refusals import Refusal
from holdfast.ports.holds import HoldReader, HoldStatistics
from holdfast.ports.seats import EventOccupancy, SeatReader
from holdfast.services.reading import found, read

EXPIRING_SOON = timedelta(minutes=5)


def hold_statistics(
    reader: HoldReader, organization_id: OrganizationId, session_id: SessionId | None
) -> HoldStatistics | Refusal:
    return read(lambda: reader.statistics(organization_id, session_id, EXPIRING_SOON))


def occupancy(
    reader: SeatReader, organization_id: OrganizationId, event_id: EventId
) -> EventOccupancy | Refusal:
    return found(lambda: reader.occupancy(organization_id, event_id), refusals.event_not_found)
