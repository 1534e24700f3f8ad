"""Rules of catalog changes: what is refused, the result, and the facts of each change."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from holdfast.domain.catalog.changes import (
    ChangeBlock,
    ChangeEvent,
    ChangePool,
    ChangeSession,
    ChangeTicketType,
    CreateBlock,
    DraftedBlock,
    ImportSeats,
    SaleChange,
)
from holdfast.domain.catalog.facts import Values, fact_of, import_fact
from holdfast.domain.catalog.model import (
    Block,
    BlockPrice,
    Event,
    EventStatus,
    PoolState,
    SaleTerms,
    Session,
    TicketType,
)
from holdfast.domain.catalog.rules import (
    Hall,
    ImportPlan,
    changed_block,
    changed_event,
    changed_pool,
    changed_session,
    changed_ticket_type,
    new_block,
    planned_seats,
    refuse_pools,
)
from holdfast.domain.catalog.seat_import import DraftBlock, DraftSeat, KnownSeat, Source
from holdfast.domain.ids import (
    BlockId,
    EventId,
    OrganizationId,
    PoolId,
    SeatId,
    SessionId,
    TicketTypeId,
)
from holdfast.domain.policy import PolicyChange, PolicyOverride
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import Money

NOW = datetime(2030, 6, 21, 19, 30, tzinfo=UTC)
ORGANIZATION = OrganizationId(UUID(int=1))
EVENT_ID = EventId(UUID(int=2))
SESSION_ID = SessionId(UUID(int=3))
FLOOR, HOUSE = PoolId(UUID(int=4)), PoolId(UUID(int=5))
TYPE_ID = TicketTypeId(UUID(int=6))
STALLS, BALCONY = BlockId(UUID(int=7)), BlockId(UUID(int=8))
FIRST_SEAT = SeatId(UUID(int=1 << 20))
SOLD_AT_900 = (BlockPrice(TYPE_ID, 900),)

EVENT = Event(EVENT_ID, "Gala", "EUR", PolicyOverride(ttl_seconds=300), NOW, NOW)
SESSION = Session(SESSION_ID, EVENT_ID, "Friday", None, NOW, NOW)
POOL = PoolState(FLOOR, SESSION_ID, "Floor", 10, 3, 2)
TYPE = TicketType(
    TYPE_ID, SESSION_ID, "Seat", Money(4500, "EUR"), (FLOOR,), PolicyOverride(), NOW, NOW
)
BLOCK = Block(STALLS, SESSION_ID, "Stalls", 0, None, 50, (), NOW, NOW)
HALL = Hall({"Stalls": STALLS, "Balcony": BALCONY}, 5, frozenset({TYPE_ID}))


def code_of(outcome: object) -> RefusalCode:
    assert isinstance(outcome, Refusal), outcome
    return outcome.code


def block_change(**fields: object) -> ChangeBlock:
    return replace(ChangeBlock(ORGANIZATION, STALLS, HOUSE), **fields)  # type: ignore[arg-type]


def type_change(**fields: object) -> ChangeTicketType:
    return replace(ChangeTicketType(ORGANIZATION, TYPE_ID), **fields)  # type: ignore[arg-type]


class TestEvents:
    def test_only_what_is_named_changes(self) -> None:
        policy, sale = PolicyChange(quantity_max=4), SaleChange(ends_at=NOW)
        change = ChangeEvent(ORGANIZATION, EVENT_ID, None, policy, sale)
        assert changed_event(EVENT, change) == replace(
            EVENT, policy=PolicyOverride(300, 4), sale=SaleTerms(ends_at=NOW)
        )
        renamed = changed_event(EVENT, ChangeEvent(ORGANIZATION, EVENT_ID, "Great gala"))
        assert renamed == replace(EVENT, name="Great gala")

    def test_a_cancelled_event_does_not_go_on_sale_again(self) -> None:
        cancelled = replace(EVENT, sale=SaleTerms(EventStatus.CANCELLED))
        change = ChangeEvent(ORGANIZATION, EVENT_ID, sale=SaleChange(status=EventStatus.PUBLISHED))
        assert code_of(changed_event(cancelled, change)) is RefusalCode.INVALID_EVENT_STATE

    def test_the_policy_has_to_fit_what_was_said_before(self) -> None:
        change = ChangeEvent(ORGANIZATION, EVENT_ID, policy=PolicyChange(lifetime_max_seconds=299))
        assert code_of(changed_event(EVENT, change)) is RefusalCode.INVALID_POLICY


def test_a_session_keeps_what_is_not_named() -> None:
    moved = changed_session(SESSION, ChangeSession(ORGANIZATION, SESSION_ID, starts_at=NOW))
    assert moved == replace(SESSION, starts_at=NOW)
    assert changed_session(moved, ChangeSession(ORGANIZATION, SESSION_ID, "Late")) == replace(
        moved, name="Late"
    )


class TestPools:
    def test_the_total_goes_down_to_what_is_in_use(self) -> None:
        change = ChangePool(ORGANIZATION, FLOOR, total=5)
        assert changed_pool(POOL, change, in_use=5) == replace(POOL, total=5)
        refused = changed_pool(POOL, change, in_use=6)
        assert code_of(refused) is RefusalCode.CAPACITY_IN_USE

    def test_a_full_pool_can_be_renamed(self) -> None:
        change = ChangePool(ORGANIZATION, FLOOR, "House")
        assert changed_pool(POOL, change, in_use=99) == replace(POOL, name="House")


class TestTicketTypes:
    def test_only_what_is_named_changes(self) -> None:
        change = type_change(price_minor=4900, policy=PolicyChange(waitlist=True))
        assert changed_ticket_type(TYPE, change, (), is_waited_for=True) == replace(
            TYPE, price=Money(4900, "EUR"), policy=PolicyOverride(waitlist=True)
        )

    def test_its_pools_are_of_its_session(self) -> None:
        assert refuse_pools([FLOOR, FLOOR], {FLOOR, HOUSE}) is None
        change = type_change(pool_ids=(FLOOR, HOUSE))
        for each in (change, replace(change, policy=PolicyChange(waitlist=True))):
            refused = changed_ticket_type(TYPE, each, {FLOOR}, is_waited_for=False)
            assert code_of(refused) is RefusalCode.INVALID_POOL

    def test_its_pools_stay_while_anybody_waits(self) -> None:
        pools = {FLOOR, HOUSE}
        change = type_change(pool_ids=(HOUSE, FLOOR))
        refused = changed_ticket_type(TYPE, change, pools, is_waited_for=True)
        assert code_of(refused) is RefusalCode.OTHERS_ARE_WAITING
        changed = changed_ticket_type(TYPE, change, pools, is_waited_for=False)
        assert changed == replace(TYPE, pool_ids=(FLOOR, HOUSE))
        same = changed_ticket_type(changed, change, pools, is_waited_for=True)
        assert same == changed

    def test_the_policy_has_to_fit_what_was_said_before(self) -> None:
        before = replace(TYPE, policy=PolicyOverride(lifetime_max_seconds=60))
        change = type_change(policy=PolicyChange(ttl_seconds=61))
        refused = changed_ticket_type(before, change, (), is_waited_for=False)
        assert code_of(refused) is RefusalCode.INVALID_POLICY


class TestBlocks:
    def test_a_new_one_comes_after_the_last(self) -> None:
        circle = CreateBlock(ORGANIZATION, STALLS, SESSION_ID, "Circle", None, None, SOLD_AT_900)
        assert new_block(circle, HALL) == replace(circle, rank=5)
        assert new_block(replace(circle, rank=1), HALL) == replace(circle, rank=1)

    def test_a_name_is_there_once(self) -> None:
        second = CreateBlock(
            ORGANIZATION, BlockId(UUID(int=9)), SESSION_ID, "Stalls", None, None, ()
        )
        assert code_of(new_block(second, HALL)) is RefusalCode.DUPLICATE_BLOCK
        taken = changed_block(BLOCK, block_change(name="Balcony"), HALL, 0)
        assert code_of(taken) is RefusalCode.DUPLICATE_BLOCK
        assert changed_block(BLOCK, block_change(name="Stalls"), HALL, 0) == BLOCK

    def test_only_seated_ticket_types_of_the_session_are_sold_in_it(self) -> None:
        other = (BlockPrice(TicketTypeId(UUID(int=99)), 900),)
        refused = changed_block(BLOCK, block_change(prices=other), HALL, 0)
        assert code_of(refused) is RefusalCode.INVALID_TICKET_TYPE
        changed = changed_block(BLOCK, block_change(prices=SOLD_AT_900), HALL, 0)
        assert changed == replace(BLOCK, prices=SOLD_AT_900)

    def test_a_first_capacity_needs_a_block_without_holds(self) -> None:
        refused = changed_block(BLOCK, block_change(capacity=10), HALL, in_use=1)
        assert code_of(refused) is RefusalCode.CAPACITY_IN_USE
        assert changed_block(BLOCK, block_change(capacity=10), HALL, 0) == replace(
            BLOCK, capacity=10
        )

    def test_a_capacity_goes_down_to_what_is_in_use(self) -> None:
        capped = replace(BLOCK, capacity=20)
        refused = changed_block(capped, block_change(capacity=7), HALL, in_use=8)
        assert code_of(refused) is RefusalCode.CAPACITY_IN_USE
        for fits in (8, None):
            changed = changed_block(capped, block_change(capacity=fits), HALL, in_use=8)
            assert changed == replace(capped, capacity=fits)

    def test_a_capacity_stays_where_it_is_not_named(self) -> None:
        capped = replace(BLOCK, capacity=20)
        changed = changed_block(capped, block_change(rank=3), HALL, in_use=99)
        assert changed == replace(capped, rank=3)


def an_import(*names: str, rank: int | None = None) -> ImportSeats:
    """One seat, A 1, in each of these blocks."""
    source = Source(1, "line 1")
    blocks = tuple(
        DraftedBlock(
            CreateBlock(
                ORGANIZATION, BlockId(UUID(int=100 + at)), SESSION_ID, name, rank, None, ()
            ),
            DraftBlock(source, name, (DraftSeat(source, "A", "1"),), rank),
        )
        for at, name in enumerate(names)
    )
    return ImportSeats(ORGANIZATION, SESSION_ID, FIRST_SEAT, blocks)


class TestImports:
    def test_blocks_that_are_missing_are_made_in_their_order(self) -> None:
        plan = planned_seats(an_import("Stalls", "Circle", "Gallery"), HALL, {})
        assert isinstance(plan, ImportPlan)
        assert [(block.name, block.rank) for block in plan.new_blocks] == [
            ("Circle", 5),
            ("Gallery", 6),
        ]
        assert [block.seats_added for block in plan.imported] == [1, 1, 1]
        assert plan.places[0].block_id == STALLS
        assert len({place.id for place in plan.places}) == 3

    def test_a_seat_that_is_there_already_is_refused(self) -> None:
        known = {STALLS: [KnownSeat("A", 0, "1", 1)]}
        refused = planned_seats(an_import("Stalls"), HALL, known)
        assert code_of(refused) is RefusalCode.INVALID_SEATS

    def test_terms_are_for_new_blocks_only(self) -> None:
        refused = planned_seats(an_import("Stalls", rank=1), HALL, {})
        assert code_of(refused) is RefusalCode.INVALID_SEATS

    def test_one_fact_contains_all_blocks(self) -> None:
        plan = planned_seats(an_import("Stalls", "Circle"), HALL, {})
        assert isinstance(plan, ImportPlan)
        fact = import_fact(ORGANIZATION, EVENT_ID, SESSION_ID, plan)
        assert fact.catalog_id == SESSION_ID
        stalls = {"block_id": str(STALLS), "name": "Stalls", "seats_added": 1, "is_new": False}
        circle = {"block_id": str(UUID(int=101)), "name": "Circle", "seats_added": 1}
        terms: Values = {"is_new": True, "rank": 5, "ticket_types": []}
        assert fact.new == {"blocks": [stalls, {**circle, **terms}]}


class TestFacts:
    def test_a_change_contains_only_the_fields_that_changed(self) -> None:
        after = replace(EVENT, name="Great gala", policy=PolicyOverride(None, 4))
        fact = fact_of(ORGANIZATION, EVENT_ID, EVENT, after)
        assert fact.type == "event.changed"
        assert fact.old == {"name": "Gala", "hold_policy": {"ttl_seconds": 300}}
        assert fact.new == {"name": "Great gala", "hold_policy": {"quantity_max": 4}}

    def test_a_creation_contains_everything_and_nothing_old(self) -> None:
        fact = fact_of(ORGANIZATION, EVENT_ID, None, POOL)
        assert fact.payload == {
            "pool_id": str(FLOOR),
            "session_id": str(SESSION_ID),
            "event_id": str(EVENT_ID),
            "organization_id": str(ORGANIZATION),
            "new": {"name": "Floor", "capacity": 10},
        }
