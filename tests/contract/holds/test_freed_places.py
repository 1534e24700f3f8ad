"""The freed places that facts report: a consumer that counts along never oversells. Runs on every
store."""

from typing import Any

import pytest

from holdfast.domain.holds.hold import Hold
from holdfast.domain.policy import HoldPolicy
from holdfast.engine import Admission
from tests.contract.asking import ask, changed, emptied, placed, waiting
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan, Venue

HALL = Hall({"Stalls": {"A": 6}}, {"seat": ()})
POLICY = HoldPolicy(waitlist=True, waiting_seconds=700)


def club(world: World) -> Venue:
    return world.build(Plan({"floor": 4}, {"standing": ("floor",)}, POLICY, HALL))


def last_payload(world: World, venue: Venue, hold: Hold) -> tuple[str, dict[str, Any]]:
    """The payload of the hold's last fact, not of its seats'."""
    payloads = [
        (type_, payload)
        for type_, payload in world.payloads(venue)
        if payload["hold_id"] == str(hold.id) and type_.startswith("hold.")
    ]
    return payloads[-1]


def held_by_the_facts(world: World, venue: Venue) -> int:
    """Count like an inventory that adds created holds and subtracts ended ones."""
    held = 0
    for type_, payload in world.payloads(venue):
        match type_:
            case "hold.created" | "hold.promoted":
                held += payload["quantity"]
            case "hold.expired" | "hold.cancelled":
                held -= payload["quantity"]
            case "hold.changed":
                held += payload["added_quantity"] - payload["freed_quantity"]
    return held


@pytest.mark.parametrize("ended_by", ["its holder", "time"])
def test_a_party_that_was_never_promoted_frees_nothing(
    world: World, engine: Admission, ended_by: str
) -> None:
    venue = club(world)
    held = placed(engine, venue.place(("standing", 4), holder=STRANGER))
    party = waiting(engine, venue.place(("standing", 4)))
    if ended_by == "its holder":
        ask(engine, venue.release(party.id))
    else:
        ask(engine, venue.extend(held.id, 600, is_operator=True))
        world.let_pass(venue, 701)
        ask(engine, venue.expire(party.id))
    type_, payload = last_payload(world, venue, party)
    assert type_ == ("hold.cancelled" if ended_by == "its holder" else "hold.expired")
    assert (payload["quantity"], payload["freed_quantity"]) == (0, 0)
    assert "lines" not in payload
    assert held_by_the_facts(world, venue) == 4 == world.pool(venue.pools["floor"]).held


@pytest.mark.parametrize("ended_by", ["its holder", "time"])
def test_a_promoted_hold_frees_its_places(world: World, engine: Admission, ended_by: str) -> None:
    venue = club(world)
    held = placed(engine, venue.place(("standing", 4), holder=STRANGER))
    party = waiting(engine, venue.place(("standing", 3)))
    ask(engine, venue.release(held.id))
    assert held_by_the_facts(world, venue) == 3
    if ended_by == "its holder":
        ask(engine, venue.release(party.id))
    else:
        world.let_pass(venue, 601)
        ask(engine, venue.expire(party.id))
    _, payload = last_payload(world, venue, party)
    assert (payload["quantity"], payload["freed_quantity"]) == (3, 3)
    assert held_by_the_facts(world, venue) == 0


def test_a_cart_that_grows_and_shrinks_is_counted_by_its_facts(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    placed(engine, venue.fill("basket", {"a": ("standing", 1)}))
    for standing in (3, 2, 4):
        changed(engine, venue.fill("basket", {"a": ("standing", standing)}))
        assert held_by_the_facts(world, venue) == standing
    party = waiting(engine, venue.place(("standing", 1), holder=STRANGER))
    assert held_by_the_facts(world, venue) == 4
    emptied(engine, venue.empty("basket"))
    assert held_by_the_facts(world, venue) == 1 == world.pool(venue.pools["floor"]).held
    ask(engine, venue.release(party.id))
    assert held_by_the_facts(world, venue) == 0


def test_each_cart_change_reports_the_places_it_frees(world: World, engine: Admission) -> None:
    venue = club(world)

    def freed_by(*names: str, standing: int) -> tuple[int, int]:
        seats = venue.these(*names)
        hold = changed(engine, venue.fill("basket", {"a": ("standing", standing), "b": seats}))
        type_, payload = last_payload(world, venue, hold)
        assert type_ == "hold.changed"
        return payload["quantity"], payload["freed_quantity"]

    placed(engine, venue.fill("basket", {"a": ("standing", 1), "b": venue.these("Stalls A 1")}))
    assert freed_by("Stalls A 1", standing=3) == (4, 0)
    assert freed_by("Stalls A 1", standing=1) == (2, 2)
    assert freed_by("Stalls A 2", standing=1) == (2, 1), "one seat for another"
    emptied(engine, venue.empty("basket"))


def test_a_waiting_cart_that_shrinks_frees_nothing(world: World, engine: Admission) -> None:
    venue = club(world)
    placed(engine, venue.place(("standing", 4), holder=STRANGER))
    waiting(engine, venue.fill("basket", {"a": ("standing", 3)}))
    less = waiting(engine, venue.fill("basket", {"a": ("standing", 1)}))
    type_, payload = last_payload(world, venue, less)
    assert (type_, payload["quantity"], payload["previous_quantity"]) == ("hold.changed", 1, 3)
    assert payload["freed_quantity"] == 0
    more = waiting(engine, venue.fill("basket", {"a": ("standing", 4)}))
    _, payload = last_payload(world, venue, more)
    assert (payload["freed_quantity"], payload["added_quantity"]) == (0, 0)


def test_the_fact_of_a_freed_seat_has_reason_and_time(world: World, engine: Admission) -> None:
    venue = club(world)
    holds = [placed(engine, venue.seats(f"Stalls A {number}")) for number in (1, 3)]
    basket = placed(engine, venue.fill("basket", {"a": venue.these("Stalls A 5")}))
    ask(engine, venue.release(holds[0].id))
    ask(engine, venue.block("Stalls A 3"))
    changed(engine, venue.fill("basket", {"a": venue.these("Stalls A 6")}))
    world.let_pass(venue, 601)
    ask(engine, venue.expire(basket.id))
    freed = [payload for type_, payload in world.payloads(venue) if type_ == "seat.released"]
    assert [(payload["hold_id"], payload["reason"]) for payload in freed] == [
        (str(holds[0].id), "user_released"),
        (str(holds[1].id), "operator"),
        (str(basket.id), "user_released"),
        (str(basket.id), "ttl_expired"),
    ]
    assert all(payload["released_at"] == payload["timestamp"] for payload in freed)
