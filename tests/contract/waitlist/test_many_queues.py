"""Many waitlist queues in one session: the cost of a release, and the maximum number."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.values import Holder
from holdfast.domain.waitlist import fairness, promotion, queues
from holdfast.engine import Admission
from tests.contract import asking
from tests.contract.asking import ask, placed, refused
from tests.contract.seen import World
from tests.contract.venues import Plan, Venue

POLICY = HoldPolicy(3600, waitlist=True)
HELD = 3


def a_person(name: str) -> Holder:
    return Holder(user_id=name)


def with_queues(world: World, count: int, policy: HoldPolicy = POLICY) -> Venue:
    """All types draw from the venue's pool, each also from its own quota."""
    quotas = {f"quota {number}": 100 for number in range(count)}
    types = {f"type {number}": ("venue", f"quota {number}") for number in range(count)}
    return world.build(Plan({"venue": HELD, **quotas}, {"any": ("venue",), **types}, policy))


def fill_queues(engine: Admission, venue: Venue, count: int) -> None:
    """Queue a party of three first, then a party of one for each type."""
    asking.waiting(engine, venue.place(("any", HELD), holder=a_person("first")))
    for number in range(count - 1):
        wish = venue.place((f"type {number}", 1), holder=a_person(f"party {number}"))
        asking.waiting(engine, wish)


@dataclass
class Counted:
    """Counts how often a party is examined."""

    monkeypatch: pytest.MonkeyPatch
    checks: int = 0
    _reach: Any = field(default=fairness.out_of_reach)

    def __enter__(self) -> "Counted":
        for module in (fairness, promotion):
            self.monkeypatch.setattr(module, "out_of_reach", self._count)
        return self

    def __exit__(self, *_: object) -> None:
        self.monkeypatch.undo()

    def _count(self, *arguments: Any) -> Any:
        self.checks += 1
        return self._reach(*arguments)


@pytest.mark.parametrize("world", ["memory"], indirect=True)
@pytest.mark.parametrize("passes", [0, 1], ids=["strict", "overtaking allowed"])
def test_a_release_examines_each_queue_once(
    world: World, engine: Admission, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the strict case the first party keeps its claim on freed places, so nobody is served."""
    checks = {}
    policy = replace(POLICY, waiting_passes_max=passes)
    for count in (10, 20, 40):
        venue = with_queues(world, count, policy)
        held = [
            placed(engine, venue.place(("any", 1), holder=a_person(f"holder {number}")))
            for number in range(HELD)
        ]
        fill_queues(engine, venue, count)
        with Counted(monkeypatch) as counted:
            ask(engine, venue.release(held[0].id))
        checks[count] = counted.checks
        is_waiting = [hold.waiting is not None for hold in world.all_holds(venue)]
        assert sum(is_waiting) == count - passes
    assert all(count <= checks[count] <= count + 1 for count in checks), checks


def test_a_session_has_a_maximum_number_of_queues(
    world: World, engine: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "QUEUES_MAX", 3)
    venue = with_queues(world, 3)
    placed(engine, venue.place(("any", HELD), holder=a_person("holder")))
    fill_queues(engine, venue, 3)
    refusal = refused(engine, venue.place(("type 2", 1), holder=a_person("too late")))
    assert refusal.code is RefusalCode.TOO_MANY_QUEUES
    asking.waiting(engine, venue.place(("type 1", 1), holder=a_person("joins")))
    cart = venue.fill("cart", {"a": ("type 0", 1)}, holder=a_person("cart"))
    asking.waiting(engine, cart)
    changed = venue.fill("cart", {"a": ("type 2", 1)}, holder=a_person("cart"))
    assert refused(engine, changed).code is RefusalCode.TOO_MANY_QUEUES
    kept = [hold for hold in world.all_holds(venue) if hold.holder == a_person("cart")]
    assert [hold.waiting is not None for hold in kept] == [True], "it waits as before"
