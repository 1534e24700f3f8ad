"""Answers about events, sessions, pools and ticket types."""

from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.catalog import model
from holdfast.entrypoints.api.catalog.policy import PolicyAnswer, policy_answer
from holdfast.entrypoints.api.http.fields import Moment, TimeZone, Venue
from holdfast.entrypoints.api.http.shapes import (
    AnswerShape,
    PageAnswer,
    metadata_or_unset,
    or_unset,
    utc,
    utc_or_unset,
)


class EventAnswer(AnswerShape, frozen=True, kw_only=True):
    """Tickets are on sale while the event is published or live, within its sale window."""

    event_id: UUID
    name: str
    currency: str
    status: model.EventStatus
    sale_starts_at: Moment | UnsetType = UNSET
    sale_ends_at: Moment | UnsetType = UNSET
    venue: Venue | UnsetType = UNSET
    time_zone: TimeZone | UnsetType = UNSET
    hold_policy: PolicyAnswer
    created_at: Moment
    updated_at: Moment
    metadata: dict[str, str] | UnsetType = UNSET


class SessionAnswer(AnswerShape, frozen=True, kw_only=True):
    session_id: UUID
    event_id: UUID
    name: str
    status: model.SessionStatus
    starts_at: Moment | UnsetType = UNSET
    created_at: Moment
    updated_at: Moment
    metadata: dict[str, str] | UnsetType = UNSET


class PoolAnswer(AnswerShape, frozen=True):
    """`held` counts live holds only."""

    pool_id: UUID
    session_id: UUID
    name: str
    capacity: int
    held: Annotated[int, Meta(description="Number in live holds.")]
    sold: int
    available: int


class TicketTypeAnswer(AnswerShape, frozen=True):
    ticket_type_id: UUID
    session_id: UUID
    name: str
    price: int
    currency: str
    is_seated: bool
    pool_ids: list[UUID]
    hold_policy: PolicyAnswer
    created_at: Moment
    updated_at: Moment
    metadata: dict[str, str] | UnsetType = UNSET


class TicketTypeAvailabilityAnswer(AnswerShape, frozen=True):
    ticket_type_id: UUID
    name: str
    price: int
    currency: str
    capacity: int
    held: int
    sold: int
    available: int


class AvailabilityAnswer(AnswerShape, frozen=True):
    """Availability at `at`, by the database's clock. Places of lapsed holds are available; draft,
    cancelled and archived events have none. `on_sale` is false for those events and outside the
    sale window."""

    session_id: UUID
    event_id: UUID
    event_status: Annotated[model.EventStatus, Meta(description="Status of the event.")]
    on_sale: Annotated[bool, Meta(description="Whether tickets can be held now.")]
    at: Moment
    ticket_types: Annotated[
        list[TicketTypeAvailabilityAnswer], Meta(description="Availability by ticket type.")
    ]


class EventPage(PageAnswer[EventAnswer], frozen=True):
    """Events, newest first."""


class SessionPage(PageAnswer[SessionAnswer], frozen=True):
    """Sessions, newest first."""


class PoolPage(PageAnswer[PoolAnswer], frozen=True):
    """Pools, newest first."""


class TicketTypePage(PageAnswer[TicketTypeAnswer], frozen=True):
    """Ticket types, newest first."""


def event_answer(event: model.Event) -> EventAnswer:
    return EventAnswer(
        event_id=event.id,
        name=event.name,
        currency=event.currency,
        status=event.sale.status,
        sale_starts_at=utc_or_unset(event.sale.starts_at),
        sale_ends_at=utc_or_unset(event.sale.ends_at),
        venue=or_unset(event.place.venue),
        time_zone=or_unset(event.place.time_zone),
        hold_policy=policy_answer(event.policy),
        created_at=utc(event.created_at),
        updated_at=utc(event.updated_at),
        metadata=metadata_or_unset(event.metadata),
    )


def session_answer(session: model.Session) -> SessionAnswer:
    return SessionAnswer(
        session_id=session.id,
        event_id=session.event_id,
        name=session.name,
        status=session.status,
        starts_at=utc_or_unset(session.starts_at),
        created_at=utc(session.created_at),
        updated_at=utc(session.updated_at),
        metadata=metadata_or_unset(session.metadata),
    )


def pool_answer(pool: model.PoolState) -> PoolAnswer:
    return PoolAnswer(
        pool_id=pool.id,
        session_id=pool.session_id,
        name=pool.name,
        capacity=pool.total,
        held=pool.held,
        sold=pool.sold,
        available=pool.available,
    )


def ticket_type_answer(ticket_type: model.TicketType) -> TicketTypeAnswer:
    return TicketTypeAnswer(
        ticket_type_id=ticket_type.id,
        session_id=ticket_type.session_id,
        name=ticket_type.name,
        price=ticket_type.price.minor,
        currency=ticket_type.price.currency,
        is_seated=ticket_type.is_seated,
        pool_ids=list(ticket_type.pool_ids),
        hold_policy=policy_answer(ticket_type.policy),
        created_at=utc(ticket_type.created_at),
        updated_at=utc(ticket_type.updated_at),
        metadata=metadata_or_unset(ticket_type.metadata),
    )


def availability_answer(availability: model.SessionAvailability) -> AvailabilityAnswer:
    ticket_types = [
        TicketTypeAvailabilityAnswer(
            ticket_type_id=each.ticket_type_id,
            name=each.name,
            price=each.price.minor,
            currency=each.price.currency,
            capacity=each.total,
            held=each.held,
            sold=each.sold,
            available=each.available,
        )
        for each in availability.ticket_types
    ]
    return AvailabilityAnswer(
        session_id=availability.session_id,
        event_id=availability.event_id,
        event_status=availability.sale.status,
        on_sale=availability.sale.is_open(availability.at),
        at=utc(availability.at),
        ticket_types=ticket_types,
    )
