"""The numbers of a hold's lines: ascending, and never used twice, whatever happens to the hold.
Runs on every store."""

from collections.abc import Iterable

from holdfast.domain.holds.hold import Hold
from holdfast.engine import Admission
from tests.contract.asking import ask, changed, placed, waiting
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan
from tests.contract.waitlist.test_waitlist import POLICY


def assert_never_reused(versions: Iterable[Hold]) -> None:
    """Check the versions of one hold, oldest first."""
    known: set[int] = set()
    before: dict[int, object] = {}
    for hold in versions:
        numbers = [line.number for line in hold.lines]
        assert numbers == sorted(set(numbers)), "unique and ascending"
        lines = {line.number: line for line in hold.lines}
        assert all(before[number] == lines[number] for number in before.keys() & lines.keys())
        assert known.isdisjoint(lines.keys() - before.keys()), "a number was used again"
        known |= lines.keys()
        before = dict(lines)


def test_line_numbers_are_never_reused_when_a_cart_changes(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 50}, {"adult": ("floor",), "child": ("floor",)})
    carts = [
        {"a": ("adult", 2), "b": ("child", 1)},
        {"a": ("adult", 2), "c": ("child", 3)},
        {"a": ("adult", 1), "c": ("child", 3), "d": ("adult", 1)},
        {"d": ("adult", 4), "e": ("child", 1)},
        {"a": ("adult", 2), "b": ("child", 1)},
    ]
    versions = [placed(engine, venue.fill("basket", carts[0]))]
    versions += [changed(engine, venue.fill("basket", cart)) for cart in carts[1:]]
    assert_never_reused(versions)
    assert world.hold(venue, versions[0].id) == versions[-1]


def test_line_numbers_are_never_reused_when_a_party_is_promoted(
    world: World, engine: Admission
) -> None:
    hall = Hall({"Stalls": {"A": 3}}, {"seat": (), "junior": ()})
    venue = world.build(Plan({}, {}, POLICY, hall))
    taken = placed(engine, venue.seats(*venue.places, holder=STRANGER))
    first = waiting(engine, venue.fill("basket", {"a": ("seat", 2), "b": ("junior", 1)}))
    second = waiting(engine, venue.fill("basket", {"a": ("seat", 1), "b": ("junior", 1)}))
    ask(engine, venue.release(taken.id))
    promoted = world.hold(venue, first.id)
    assert len(promoted.seats) == 2
    more = changed(engine, venue.fill("basket", {"a": ("seat", 2), "b": ("junior", 1)}))
    less = changed(engine, venue.fill("basket", {"a": ("seat", 1)}))
    last = changed(engine, venue.fill("basket", {"a": ("seat", 2)}))
    assert_never_reused([first, second, promoted, more, less, last])
    assert world.hold(venue, first.id) == last
