"""Read operations. Every call blocks; a missing object or an unavailable store is a refusal."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import structlog

from holdfast.domain import refusals
from holdfast.domain.ids import EventId, HoldId, OrganizationId, SeatId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.access import KeyStore
from holdfast.ports.catalog import AvailabilityReader, CatalogStore
from holdfast.ports.holds import HoldReader, SeenHold, SeenPlace
from holdfast.ports.inventory.reservations import ReservationReader
from holdfast.ports.mails.templates import MailTemplateStore
from holdfast.ports.members import MemberStore
from holdfast.ports.organizations import OrganizationStore
from holdfast.ports.seats import SeatReader, SeenSeat
from holdfast.ports.store import StoreError

P = ParamSpec("P")
T = TypeVar("T")
Reader = TypeVar("Reader")

_log = structlog.get_logger("holdfast.reading")


def read(look_up: Callable[[], T]) -> T | Refusal:
    try:
        return look_up()
    except StoreError as error:
        _log.warning("read.failed", problem=error.problem)
        return refusals.service_unavailable()


def found(look_up: Callable[[], T | None], missing: Callable[[], Refusal]) -> T | Refusal:
    what = read(look_up)
    return missing() if what is None else what


def query_of(
    method: Callable[Concatenate[Reader, P], T],
) -> Callable[Concatenate[Reader, P], T | Refusal]:
    """A method of a port as a read operation, with the reader as its first argument."""

    @wraps(method)
    def run(reader: Reader, /, *args: P.args, **kwargs: P.kwargs) -> T | Refusal:
        # By name, because a Protocol's own method has no body.
        return read(lambda: getattr(reader, method.__name__)(*args, **kwargs))

    return run


def lookup_of(
    method: Callable[Concatenate[Reader, P], T | None], missing: Callable[[], Refusal]
) -> Callable[Concatenate[Reader, P], T | Refusal]:
    """The same for a method that may find nothing."""
    query = query_of(method)

    @wraps(method)
    def run(reader: Reader, /, *args: P.args, **kwargs: P.kwargs) -> T | Refusal:
        what = query(reader, *args, **kwargs)
        return missing() if what is None else what

    return run


hold = lookup_of(HoldReader.hold, refusals.hold_not_found)
holds = query_of(HoldReader.holds)
reservations = query_of(ReservationReader.reservations)
session_map = lookup_of(SeatReader.session_map, refusals.session_not_found)
map_state = lookup_of(SeatReader.map_state, refusals.session_not_found)
seat_changes = lookup_of(SeatReader.seat_changes, refusals.session_not_found)
occupancy = lookup_of(SeatReader.occupancy, refusals.event_not_found)
availability = lookup_of(AvailabilityReader.availability, refusals.session_not_found)
event = lookup_of(CatalogStore.event, refusals.event_not_found)
events = query_of(CatalogStore.events)
session = lookup_of(CatalogStore.session, refusals.session_not_found)
sessions = query_of(CatalogStore.sessions)
pool = lookup_of(CatalogStore.pool, refusals.pool_not_found)
pools = query_of(CatalogStore.pools)
ticket_type = lookup_of(CatalogStore.ticket_type, refusals.ticket_type_not_found)
ticket_types = query_of(CatalogStore.ticket_types)
block = lookup_of(CatalogStore.block, refusals.block_not_found)
blocks = query_of(CatalogStore.blocks)
organization = lookup_of(OrganizationStore.organization, refusals.internal_error)
key = lookup_of(KeyStore.key, refusals.key_not_found)
keys = query_of(KeyStore.keys)
mail_texts = query_of(MailTemplateStore.texts)
member = lookup_of(MemberStore.member, refusals.member_not_found)
members = query_of(MemberStore.members)


@immutable
class HoldWithPosition:
    """A hold, with its queue position while it waits."""

    seen: SeenHold
    place: SeenPlace | None = None


def hold_with_position(
    reader: HoldReader, organization_id: OrganizationId, hold_id: HoldId
) -> HoldWithPosition | Refusal:
    seen = hold(reader, organization_id, hold_id)
    return seen if isinstance(seen, Refusal) else with_position(reader, seen)


def cart_hold(
    reader: HoldReader, organization_id: OrganizationId, cart: str
) -> HoldWithPosition | Refusal:
    """The cart's active or waiting hold, or else its last one."""
    seen = found(lambda: reader.cart_hold(organization_id, cart), refusals.hold_not_found)
    return seen if isinstance(seen, Refusal) else with_position(reader, seen)


def with_position(reader: HoldReader, seen: SeenHold) -> HoldWithPosition | Refusal:
    """The hold with its current queue position. It may have been promoted since it was read."""
    if not seen.hold.is_waiting(seen.at):
        return HoldWithPosition(seen)
    organization_id, hold_id = seen.hold.key
    place = read(lambda: reader.waiting_position(organization_id, hold_id))
    return place if isinstance(place, Refusal) else HoldWithPosition(seen, place)


def seat(
    reader: SeatReader, organization_id: OrganizationId, event_id: EventId, seat_id: SeatId
) -> SeenSeat | Refusal:
    """Refuses a seat of another event as not found, and an unknown event as such."""

    def missing() -> Refusal:
        known = read(lambda: reader.has_event(organization_id, event_id))
        if isinstance(known, Refusal):
            return known
        return refusals.seat_not_found() if known else refusals.event_not_found()

    return found(lambda: reader.seat(organization_id, event_id, seat_id), missing)
