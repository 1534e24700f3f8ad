"""Every store keeps the platform's metadata with holds and orders."""

from dataclasses import replace

import pytest

from holdfast.domain.holds.hold import Hold, Remarks
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.values import NO_METADATA, Metadata
from holdfast.engine import Admission
from tests.contract.asking import changed, converted, placed, unchanged, waiting
from tests.contract.seen import World
from tests.contract.venues import Hall, Plan, Venue, a_purchase

ODD = Metadata({"Größe": "", "b": 'a "quoted" {text}, \\ and all', "a": "NULL"})
OTHER = Metadata({"other": "x"})
CART = "basket"


@pytest.fixture
def venue(world: World) -> Venue:
    return world.venue({"floor": 10}, {"standing": ("floor",)})


def stored_metadata(world: World, venue: Venue, hold: Hold) -> Metadata:
    found = world.hold(venue, hold.id)
    assert found == hold
    return found.remarks.metadata


def test_a_hold_keeps_its_metadata_to_the_end(
    world: World, engine: Admission, venue: Venue
) -> None:
    command = replace(venue.place(("standing", 2)), remarks=Remarks(metadata=ODD))
    plain = placed(engine, venue.place(("standing", 1)))
    hold = placed(engine, command)
    assert world.hold(venue, hold.id).remarks.metadata == ODD
    assert world.hold(venue, plain.id).remarks.metadata is NO_METADATA
    (sold,) = converted(engine, venue.convert(hold.id)).holds
    assert world.hold(venue, hold.id) == sold
    assert sold.remarks.metadata == ODD


def test_a_late_payment_keeps_the_metadata_of_the_expired_hold(
    world: World, engine: Admission
) -> None:
    policy = HoldPolicy(600, late_payment_seconds=300)
    venue = world.build(Plan({"floor": 2}, {"standing": ("floor",)}, policy))
    hold = placed(engine, replace(venue.place(("standing", 2)), remarks=Remarks(metadata=ODD)))
    world.let_pass(venue, 601)
    (sold,) = converted(engine, venue.convert(hold.id)).holds
    assert sold.revives == hold.id
    assert world.hold(venue, sold.id).remarks.metadata == ODD


def test_a_cart_keeps_its_metadata_until_a_call_brings_other(
    world: World, engine: Admission, venue: Venue
) -> None:
    one, two = ({"a": ("standing", quantity)} for quantity in (1, 2))
    hold = placed(engine, replace(venue.fill(CART, one), metadata=ODD))
    assert stored_metadata(world, venue, hold) == ODD
    hold = changed(engine, venue.fill(CART, two))
    assert stored_metadata(world, venue, hold) == ODD
    unchanged(engine, replace(venue.fill(CART, two), metadata=ODD))
    hold = changed(engine, replace(venue.fill(CART, two), metadata=OTHER))
    assert stored_metadata(world, venue, hold) == OTHER
    assert (hold.cart, hold.quantity, hold.version) == (CART, 2, 3)
    hold = changed(engine, replace(venue.fill(CART, one), metadata=NO_METADATA))
    assert stored_metadata(world, venue, hold) == NO_METADATA


def test_a_renewed_cart_has_the_metadata_of_the_expired_hold(
    world: World, engine: Admission, venue: Venue
) -> None:
    items = {"a": ("standing", 1)}
    placed(engine, replace(venue.fill(CART, items), metadata=ODD))
    world.let_pass(venue, 601)
    hold = placed(engine, venue.renew(CART))
    assert stored_metadata(world, venue, hold) == ODD


def test_a_waiting_cart_keeps_its_metadata_until_a_call_brings_other(
    world: World, engine: Admission
) -> None:
    policy = HoldPolicy(waitlist=True)
    venue = world.build(Plan({"floor": 1}, {"standing": ("floor",)}, policy))
    first = placed(engine, venue.place(("standing", 1)))
    items = {"a": ("standing", 1)}
    hold = waiting(engine, replace(venue.fill(CART, items), metadata=ODD))
    assert stored_metadata(world, venue, hold) == ODD
    hold = waiting(engine, replace(venue.fill(CART, items), metadata=OTHER))
    assert stored_metadata(world, venue, hold) == OTHER
    assert engine.submit(venue.release(first.id)).result(60)
    promoted = world.hold(venue, hold.id)
    assert promoted.waiting is None
    assert promoted.remarks.metadata == OTHER


def test_a_cart_that_stops_waiting_keeps_its_metadata(world: World, engine: Admission) -> None:
    hall = Hall({"Stalls": {"A": 2}}, {"seat": ()})
    policy = HoldPolicy(waitlist=True)
    venue = world.build(Plan({"floor": 1}, {"standing": ("floor",)}, policy, hall=hall))
    placed(engine, venue.place(("standing", 1)))
    waited = waiting(engine, replace(venue.fill(CART, {"a": ("standing", 1)}), metadata=ODD))
    hold = placed(engine, venue.fill(CART, {"b": venue.these("Stalls A 1")}))
    assert hold.id != waited.id
    assert stored_metadata(world, venue, hold) == ODD


def test_an_order_has_metadata_of_its_own(world: World, engine: Admission, venue: Venue) -> None:
    made = {}
    for metadata in (ODD, NO_METADATA):
        placing = replace(venue.place(("standing", 1)), remarks=Remarks(metadata=OTHER))
        hold = placed(engine, placing)
        purchase = replace(a_purchase(), metadata=metadata)
        order = converted(engine, venue.convert(hold.id, purchase=purchase)).order
        assert order.metadata == metadata
        made[order.id] = order
    assert world.orders(venue) == made
