"""The exact limits of seats: of one hold, and of those one command may free. Runs on every
store."""

import pytest

from holdfast.domain.carts import fill_cart
from holdfast.domain.group import plan
from holdfast.domain.group.outcomes import Expired
from holdfast.domain.holds import place_hold, preconditions
from holdfast.domain.holds.placement import SEATS_PER_HOLD_MAX, Ask, SeatAsk
from holdfast.domain.orders import convert_holds
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.seats import assignment
from holdfast.domain.values import InvalidValue
from holdfast.engine import Admission
from tests.contract.asking import ask, changed, converted, placed, refused
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan, Venue, empty_venue

HALL = Hall({"Stalls": {"A": 6, "B": 6}}, {"seat": ()})


def theatre(world: World, policy: HoldPolicy | None = None) -> Venue:
    return world.build(Plan({"floor": 9}, {"standing": ("floor",)}, policy or HoldPolicy(), HALL))


@pytest.mark.parametrize("found", [0, 1, 4])
def test_a_hold_has_a_maximum_of_seats_whether_named_or_found(
    world: World, engine: Admission, monkeypatch: pytest.MonkeyPatch, found: int
) -> None:
    """General admission does not count."""
    for module in (preconditions, assignment):
        monkeypatch.setattr(module, "SEATS_PER_HOLD_MAX", 4)
    venue = theatre(world)

    def wish(named: int) -> list[Ask | SeatAsk]:
        names = [f"Stalls A {number}" for number in range(1, named + 1)]
        return [
            *([venue.these(*names)] if names else []),
            *([venue.some("seat", found)] if found else []),
            venue.some("standing", 3),
        ]

    refusal = refused(engine, venue.place(*wish(5 - found)))
    assert refusal.code is RefusalCode.QUANTITY_ABOVE_MAXIMUM
    assert refusal.details["maximum"] == 4
    hold = placed(engine, venue.place(*wish(4 - found)))
    assert (len(hold.seats), hold.quantity) == (4, 7)


def test_a_cart_grows_to_the_maximum_of_seats_and_no_further(
    world: World, engine: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fill_cart, "SEATS_PER_HOLD_MAX", 4)
    venue = theatre(world)
    kept: dict[str, tuple[str, int] | Ask | SeatAsk] = {
        "a": venue.these("Stalls A 1", "Stalls A 2"),
        "b": ("standing", 3),
    }
    placed(engine, venue.fill("basket", kept))
    refusal = refused(engine, venue.fill("basket", {**kept, "c": ("seat", 3)}))
    assert refusal.code is RefusalCode.QUANTITY_ABOVE_MAXIMUM
    after = changed(engine, venue.fill("basket", {**kept, "c": ("seat", 2)}))
    assert len(after.seats) == 4


def test_a_request_names_each_seat_once_and_not_too_many() -> None:
    seats = SEATS_PER_HOLD_MAX + 1
    venue = empty_venue(Plan({}, {}, hall=Hall({"Stalls": {"A": seats}}, {"seat": ()})))
    names = list(venue.places)
    venue.seats(*names[:-1])
    for wrong in (names, [names[0], names[0]]):
        with pytest.raises(InvalidValue):
            venue.seats(*wrong)
        with pytest.raises(InvalidValue):
            venue.fill("basket", {"a": venue.these(*wrong)})


@pytest.mark.parametrize(("limit", "is_served"), [(3, False), (4, True)])
def test_taking_a_seat_frees_as_many_others_as_the_limit(
    world: World,
    engine: Admission,
    monkeypatch: pytest.MonkeyPatch,
    limit: int,
    is_served: bool,
) -> None:
    monkeypatch.setattr(place_hold, "SEATS_FREED_BY_ONE_MAX", limit)
    venue = theatre(world)
    old = placed(engine, venue.place(("seat", 4), holder=STRANGER))
    world.let_pass(venue, 601)
    wish = venue.seats(venue.names_of(old)[0])
    if is_served:
        placed(engine, wish)
        return
    refusal = refused(engine, wish)
    assert refusal.code is RefusalCode.SERVICE_UNAVAILABLE
    assert world.holds(venue)[old.id].status == "active", "nothing has changed"


@pytest.mark.parametrize(("limit", "is_served"), [(2, False), (3, True)])
def test_a_late_payment_frees_as_many_seats_of_others_as_the_limit(
    world: World,
    engine: Admission,
    monkeypatch: pytest.MonkeyPatch,
    limit: int,
    is_served: bool,
) -> None:
    """Another hold had the seat since, and two more, and has lapsed as well."""
    monkeypatch.setattr(convert_holds, "SEATS_FREED_BY_ONE_MAX", limit)
    venue = theatre(world, HoldPolicy(600, late_payment_seconds=3600))
    late = placed(engine, venue.seats("Stalls A 1"))
    world.let_pass(venue, 601)
    others = venue.seats("Stalls A 1", "Stalls A 2", "Stalls A 3", holder=STRANGER)
    between = placed(engine, others)
    world.let_pass(venue, 601)
    if is_served:
        assert len(converted(engine, venue.convert(late.id)).order.tickets) == 1
        assert world.holds(venue)[between.id].status == "expired"
        return
    refusal = refused(engine, venue.convert(late.id))
    assert refusal.code is RefusalCode.SERVICE_UNAVAILABLE
    assert not world.orders(venue)
    assert world.holds(venue)[between.id].status == "active", "nothing has changed"


@pytest.mark.parametrize(
    ("sizes", "first"),
    [((2, 2, 1), 2), ((5, 1), 1), ((1, 5), 1), ((3, 1, 1), 2), ((4,), 1), ((5,), 1)],
)
def test_expiry_frees_up_to_the_limit_of_seats_but_at_least_one_hold(
    world: World,
    engine: Admission,
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, ...],
    first: int,
) -> None:
    monkeypatch.setattr(plan, "SEATS_FREED_AT_ONCE_MAX", 4)
    venue = theatre(world)
    holds = [placed(engine, venue.place(("seat", size), holder=STRANGER)).id for size in sizes]
    world.let_pass(venue, 601)
    outcome = ask(engine, venue.expire(*holds))
    assert isinstance(outcome, Expired)
    assert list(outcome.hold_ids) == holds[:first]
