"""Decides changes of the catalog, with values read under the lock of the event or session."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeVar

from holdfast.domain import refusals
from holdfast.domain.catalog.changes import (
    ChangeEvent,
    ChangePool,
    ChangeSession,
    ChangeTicketType,
    refuse_policy,
)
from holdfast.domain.catalog.model import Event, PoolState, Session, TicketType
from holdfast.domain.ids import PoolId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Money

T = TypeVar("T")


def changed_event(event: Event, change: ChangeEvent) -> Event | Refusal:
    sale = change.sale.applied_to(event.sale) if change.sale else event.sale
    if isinstance(sale, Refusal):
        return sale
    policy = event.policy.changed(change.policy) if change.policy else event.policy
    refusal = refuse_policy(policy) if change.policy else None
    return refusal or replace(
        event,
        name=given_or(change.name, event.name),
        policy=policy,
        sale=sale,
        metadata=given_or(change.metadata, event.metadata),
    )


def changed_session(session: Session, change: ChangeSession) -> Session:
    return replace(
        session,
        name=given_or(change.name, session.name),
        starts_at=given_or(change.starts_at, session.starts_at),
        metadata=given_or(change.metadata, session.metadata),
    )


def changed_pool(pool: PoolState, change: ChangePool, in_use: int) -> PoolState | Refusal:
    total = given_or(change.total, pool.total)
    refusal = refuse_total(change.total, in_use)
    return refusal or replace(pool, name=given_or(change.name, pool.name), total=total)


def refuse_total(total: int | None, in_use: int) -> Refusal | None:
    """Lapsed holds count as in use until the reaper ends them, so a retry may succeed."""
    is_below = total is not None and total < in_use
    return refusals.capacity_in_use(in_use) if is_below else None


def refuse_pools(wanted: Sequence[PoolId], of_session: Collection[PoolId]) -> Refusal | None:
    """The pools must belong to the ticket type's session."""
    return None if set(wanted) <= set(of_session) else refusals.invalid_pool()


def changed_ticket_type(
    ticket_type: TicketType,
    change: ChangeTicketType,
    pools_of_session: Collection[PoolId],
    *,
    is_waited_for: bool,
) -> TicketType | Refusal:
    """Keep the pools while anybody waits: parties are in the queue of the pools that the type had
    when they joined."""
    pool_ids = tuple(sorted(set(given_or(change.pool_ids, ticket_type.pool_ids))))
    policy = ticket_type.policy.changed(change.policy) if change.policy else ticket_type.policy
    refusal = refuse_pools(change.pool_ids or (), pools_of_session)
    if refusal is None and change.policy is not None:
        refusal = refuse_policy(policy)
    if refusal is None and is_waited_for and pool_ids != ticket_type.pool_ids:
        refusal = refusals.others_are_waiting()
    price = ticket_type.price
    return refusal or replace(
        ticket_type,
        name=given_or(change.name, ticket_type.name),
        price=Money(given_or(change.price_minor, price.minor), price.currency),
        pool_ids=pool_ids,
        policy=policy,
        metadata=given_or(change.metadata, ticket_type.metadata),
    )


def given_or(given: T | None, current: T) -> T:
    return current if given is None else given
