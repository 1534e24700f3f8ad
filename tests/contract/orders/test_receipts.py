"""A message has one effect, however often it is delivered. Runs on every store."""

from uuid import UUID, uuid4

import pytest

from holdfast.domain.group.origin import IdempotencyKey, Receipt
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import answer, ask, converted, placed, refused
from tests.contract.seen import World
from tests.contract.venues import Venue


def message(venue: Venue, event_id: UUID, consumer: str = "orders") -> IdempotencyKey:
    """The key of a message: its digest is the message id, the same for every consumer."""
    return IdempotencyKey(venue.organization_id, event_id, b"", Receipt(consumer, event_id))


@pytest.fixture
def venue(world: World) -> Venue:
    return world.venue({"floor": 10}, {"standing": ("floor",)})


def test_a_message_delivered_twice_has_one_effect(
    world: World, engine: Admission, venue: Venue
) -> None:
    hold = placed(engine, venue.place(("standing", 2)))
    event_id = uuid4()
    first = answer(engine, venue.convert(hold.id, key=message(venue, event_id)))
    facts = world.facts(venue)
    again = answer(engine, venue.convert(hold.id, key=message(venue, event_id)))
    assert (first.is_replay, again.is_replay, again.outcome) == (False, True, None)
    assert world.facts(venue) == facts


def test_a_repeated_message_with_another_command_is_ignored(
    world: World, engine: Admission, venue: Venue
) -> None:
    """The receipt decides, whatever the repeated message contains."""
    hold, other = (placed(engine, venue.place(("standing", 1))) for _ in range(2))
    event_id = uuid4()
    ask(engine, venue.convert(hold.id, key=message(venue, event_id)))
    again = answer(engine, venue.convert(other.id, key=message(venue, event_id)))
    assert again.is_replay
    assert world.holds(venue)[other.id].status == "active"


def test_copies_of_a_message_in_one_group_have_one_effect(
    world: World, engine: Admission, venue: Venue
) -> None:
    event_id = uuid4()
    command = venue.place(("standing", 2), key=message(venue, event_id))
    answers = [future.result(60) for future in [engine.submit(command) for _ in range(5)]]
    assert sorted(each.is_replay for each in answers) == [False, True, True, True, True]
    assert world.pool(venue.pools["floor"]).held == 2


def test_each_consumer_keeps_its_own_receipt(world: World, engine: Admission, venue: Venue) -> None:
    hold = placed(engine, venue.place(("standing", 1)))
    event_id = uuid4()
    for consumer, is_replay in (("a", False), ("b", False), ("a", True), ("b", True)):
        key = message(venue, event_id, consumer)
        assert answer(engine, venue.extend(hold.id, 10, key=key)).is_replay is is_replay
    assert world.holds(venue)[hold.id].version == 3


def test_each_organization_keeps_its_own_receipt(
    world: World, engine: Admission, venue: Venue
) -> None:
    other = world.venue({"floor": 10}, {"standing": ("floor",)})
    event_id = uuid4()
    for each in (venue, other):
        key = message(each, event_id)
        assert not answer(engine, each.place(("standing", 1), key=key)).is_replay


def test_a_refusal_leaves_no_receipt(world: World, engine: Admission, venue: Venue) -> None:
    """The message had no effect: it is retried or dead-lettered."""
    hold = placed(engine, venue.place(("standing", 10)))
    event_id = uuid4()
    key = message(venue, event_id)
    for _ in range(2):
        refusal = refused(engine, venue.place(("standing", 1), key=key))
        assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    world.let_pass(venue, 601)
    for _ in range(2):
        refusal = refused(engine, venue.convert(hold.id, key=key))
        assert refusal.code is RefusalCode.HOLD_EXPIRED, "final refusals leave no receipt either"
    assert not answer(engine, venue.place(("standing", 1), key=key)).is_replay


def test_a_message_whose_work_was_already_done_gets_a_receipt(
    world: World, engine: Admission, venue: Venue
) -> None:
    hold = placed(engine, venue.place(("standing", 1)))
    order = converted(engine, venue.convert(hold.id)).order
    key = message(venue, uuid4())
    assert not answer(engine, venue.convert(hold.id, key=key)).is_replay
    assert answer(engine, venue.convert(hold.id, key=key)).is_replay
    assert list(world.orders(venue)) == [order.id]
