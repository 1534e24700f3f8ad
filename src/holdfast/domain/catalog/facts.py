"""Facts and audit entries of catalog changes: the changed fields, before and after, under their API
names."""

from collections.abc import Iterable
from datetime import UTC, datetime
from uuid import UUID

from holdfast.domain.catalog.changes import CreateBlock
from holdfast.domain.catalog.model import Block, BlockPrice, Event, PoolState, Session, TicketType
from holdfast.domain.catalog.rules import ImportPlan
from holdfast.domain.facts import iso
from holdfast.domain.group.transitions import FactType
from holdfast.domain.ids import EventId, OrganizationId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.values import JsonValue

CatalogRecord = Event | Session | PoolState | TicketType | Block
Values = dict[str, JsonValue]

_KINDS = {
    Event: "event",
    Session: "session",
    PoolState: "pool",
    TicketType: "ticket_type",
    Block: "block",
}


@immutable
class CatalogFact:
    """One fact and one audit entry with the same values. `catalog_id` is the changed record; `ids`
    are those of the record and its parents."""

    organization_id: OrganizationId
    event_id: EventId
    type: FactType
    catalog_id: UUID
    ids: Values
    old: Values | None
    new: Values

    @property
    def payload(self) -> Values:
        return {**self.ids, **({} if self.old is None else {"old": self.old}), "new": self.new}


def fact_of(
    organization_id: OrganizationId,
    event_id: EventId,
    before: CatalogRecord | None,
    after: CatalogRecord,
    **more: JsonValue,
) -> CatalogFact:
    """Without `before`, the record was created. `more` are values that the record lacks."""
    kind, verb = _KINDS[type(after)], "created"
    old, new = None, values_of(after)
    if before is not None:
        verb = "changed"
        old, new = _differences(values_of(before), new)
    own: dict[str, UUID] = {f"{kind}_id": after.id}
    if isinstance(after, PoolState | TicketType | Block):
        own["session_id"] = after.session_id
    ids = _ids(organization_id, event_id, own)
    fact_type = FactType(f"{kind}.{verb}")
    return CatalogFact(organization_id, event_id, fact_type, after.id, ids, old, new | more)


def import_fact(
    organization_id: OrganizationId, event_id: EventId, session_id: SessionId, plan: ImportPlan
) -> CatalogFact:
    """One fact for all seats. A block created by the import is included with its terms."""
    made = {block.block_id: _block_terms(block) for block in plan.new_blocks}
    blocks: list[JsonValue] = [
        {
            "block_id": str(block.id),
            "name": block.name,
            "seats_added": block.seats_added,
            "is_new": block.id in made,
            **made.get(block.id, {}),
        }
        for block in plan.imported
    ]
    ids = _ids(organization_id, event_id, {"session_id": session_id})
    new: Values = {"blocks": blocks}
    fact_type = FactType.SEATS_IMPORTED
    return CatalogFact(organization_id, event_id, fact_type, session_id, ids, None, new)


def values_of(record: CatalogRecord) -> Values:
    """All that a caller can set and has set."""
    values: Values = {"name": record.name}
    match record:
        case Event(currency=currency, sale=sale, place=place):
            values |= {"currency": currency, "status": sale.status.value}
            values |= {"sale_starts_at": _iso_or_none(sale.starts_at)}
            values |= {"sale_ends_at": _iso_or_none(sale.ends_at)}
            values |= {"venue": place.venue, "time_zone": place.time_zone}
        case Session(starts_at=starts_at, status=status):
            values |= {"starts_at": _iso_or_none(starts_at), "status": status.value}
        case PoolState(total=total):
            values |= {"capacity": total}
        case TicketType(price=price, is_seated=is_seated, pool_ids=pool_ids):
            values |= {"price": price.minor, "is_seated": is_seated}
            values |= {"pool_ids": [str(pool_id) for pool_id in pool_ids]}
        case Block(rank=rank, capacity=capacity, prices=prices):
            values |= {"rank": rank, "capacity": capacity, "ticket_types": _prices(prices)}
    if isinstance(record, Event | TicketType):
        values["hold_policy"] = dict(record.policy.values) or None
    if isinstance(record, Event | Session | TicketType):
        values["metadata"] = dict(record.metadata.texts)
    return _without_nulls(values)


def _ids(organization_id: OrganizationId, event_id: EventId, own: dict[str, UUID]) -> Values:
    ids = {**own, "event_id": event_id, "organization_id": organization_id}
    return {name: str(value) for name, value in ids.items()}


def _differences(old: Values, new: Values) -> tuple[Values, Values]:
    """The fields that differ; of a policy, only those of its fields that do. Fields without a value
    are left out."""
    was: Values = {}
    becomes: Values = {}
    for name in old | new:
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if name == "hold_policy" and isinstance(before, dict) and isinstance(after, dict):
            before, after = _differences(before, after)
        was[name], becomes[name] = before, after
    return _without_nulls(was), _without_nulls(becomes)


def _without_nulls(values: Values) -> Values:
    return {name: value for name, value in values.items() if value not in (None, {})}


def _block_terms(block: CreateBlock) -> Values:
    capacity = None if block.own_pool is None else block.own_pool.total
    prices = _prices(block.prices)
    return _without_nulls({"rank": block.rank, "capacity": capacity, "ticket_types": prices})


def _prices(prices: Iterable[BlockPrice]) -> list[JsonValue]:
    return [
        _without_nulls({"ticket_type_id": str(price.ticket_type_id), "price": price.price_minor})
        for price in prices
    ]


def _iso_or_none(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment.astimezone(UTC))
