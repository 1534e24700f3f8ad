"""kill -9 of the Hold Service at each step of a hold. A repeated request gets its answer, and both
services agree again within a minute."""

from collections.abc import Callable, Sequence

import pytest

from tests.crash.points import await_death
from tests.e2e.owner import Owner
from tests.remote.agreement import assert_agree
from tests.remote.crash.buyers import Buyer
from tests.remote.crash.killing import Killing, Step, quick, steps_of, without_broker
from tests.remote.layout import TwoServices

NewBuyer = Callable[[], Buyer]

LONG = [pytest.mark.long, pytest.mark.timeout(600)]
NO_HOLD: tuple[Sequence[str], Sequence[str]] = ([], [])
INTENDED = (["pending"], ["absent"])
RESERVED = (["pending"], ["held"])
HELD = (["held"], ["held"])
CREATING = [
    *steps_of("PlaceHold", NO_HOLD, INTENDED),
    Step("HttpInventory", "before the call", *INTENDED),
    Step("HttpInventory", "after the call", *RESERVED),
    *steps_of("SettleHold", RESERVED, HELD),
]
INTENT = CREATING[4]
# One of each state in which something has happened.
CREATING_QUICK = [
    step
    for step in CREATING
    if (step.command, step.point)
    in {
        ("PlaceHold", "after COMMIT"),
        ("HttpInventory", "after the call"),
        ("SettleHold", "after COMMIT"),
    }
]
# What the message has changed there by the time of the look is not known.
RELEASING = steps_of("ReleaseHold", [["held"]], [["released"]])
PAYING = steps_of("ConvertHolds", [["held"]], [["committed"]])


@pytest.mark.parametrize(
    "steps", [CREATING_QUICK, pytest.param(CREATING, marks=LONG)], ids=["quick", "all"]
)
def test_killed_while_it_creates_holds(
    services: TwoServices, killing: Killing, new_buyer: NewBuyer, steps: list[Step]
) -> None:
    """Nothing moves the clock here: the reconciler finds what is pending in its own time."""
    buyers = [new_buyer() for _ in steps]
    for step, buyer, dying in zip(steps, buyers, killing.beside(steps), strict=True):
        assert buyer.places(dying).status == 0, "it was answered"
        await_death(dying)
        assert (buyer.here(), buyer.there()) == (step.here, step.there), f"it died at {step}"
    for buyer in buyers:
        assert buyer.repeats().status == 201
    assert_agree(services)
    for step, buyer in zip(steps, buyers, strict=True):
        abandoned = ["released"] * (step in _pending(steps))
        assert buyer.here() == ["held", *abandoned], step
        assert buyer.there()[0] == "held"


def _pending(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if "pending" in step.here]


@pytest.mark.parametrize(
    "steps",
    [
        quick(RELEASING) + quick(PAYING),
        pytest.param(RELEASING, marks=LONG),
        pytest.param(PAYING, marks=LONG),
    ],
    ids=["quick", "cancel", "convert"],
)
def test_killed_while_it_cancels_and_converts(
    services: TwoServices, killing: Killing, new_buyer: NewBuyer, steps: list[Step]
) -> None:
    buyers = [new_buyer() for _ in steps]
    for step, buyer, dying in zip(steps, buyers, killing.beside(steps), strict=True):
        assert buyer.places().status == 201
        end = buyer.releases if step.command == "ReleaseHold" else buyer.pays
        assert end(dying).status == 0, "it was answered"
        await_death(dying)
        assert buyer.here() == step.here, f"it died at {step}"
    for buyer in buyers:
        assert buyer.repeats().status == 200
    assert_agree(services)
    ends = ["released" if step.command == "ReleaseHold" else "committed" for step in steps]
    assert [buyer.here() for buyer in buyers] == [[end] for end in ends]
    assert [buyer.there() for buyer in buyers] == [[end] for end in ends]


@pytest.mark.parametrize("is_quick", [True, pytest.param(False, marks=LONG)], ids=["quick", "all"])
def test_killed_while_its_duties_run(
    services: TwoServices, killing: Killing, new_buyer: NewBuyer, is_quick: bool
) -> None:
    """The reaper, the reconciler and the relay, one after the other while no other process does
    their work."""
    lapsed, released, pending = buyers = [new_buyer() for _ in range(3)]
    for buyer in (lapsed, released):
        assert buyer.places().status == 201
    services.holds.stop()
    first, second = dying = killing.beside([INTENT, RELEASING[-1]])
    assert pending.places(first).status == released.releases(second).status == 0
    for server in dying:
        await_death(server)
    _make_due(services)

    expiring = steps_of("ExpireHolds", [["active"]], [["expired"]])
    lapsed.lets_it_lapse()
    for step in expiring[-1:] if is_quick else expiring:
        killing.duty(step)
        assert [_status(services, lapsed)] == step.here, f"it died at {step}"

    def reconcile(buyer: Buyer, step: Step) -> None:
        """Only their task is due, although the reconciler that died before had taken it."""
        _make_due(services, buyer)
        killing.duty(step)

    assert (released.here(), released.there()) == (["released"], ["held"])
    if not is_quick:
        reconcile(released, Step("the reconciler", "after asking", []))
        assert released.there() == ["held"]
    reconcile(released, Step("the reconciler", "after mending", []))
    assert released.there() == ["released"]
    if not is_quick:
        for step in steps_of("SettleHold", [["pending"]], [["released"]]):
            reconcile(pending, step)
            assert pending.here() == step.here, f"it died at {step}"
    killing.duty(Step("the relay", "after publishing", []), has_broker=True)

    Owner(services.holds.database_url).run("UPDATE inventory_task SET due_at = now()")
    services.holds.start()
    assert_agree(services)
    assert [buyer.here() for buyer in buyers] == [["released"]] * 3


@pytest.mark.long
def test_a_killed_reconciler_delays_the_next_one_by_its_lease(
    services: TwoServices, killing: Killing, new_buyer: NewBuyer
) -> None:
    buyer = new_buyer()
    assert buyer.places().status == 201
    services.holds.stop()
    (dying,) = killing.beside([RELEASING[-1]])
    assert buyer.releases(dying).status == 0
    await_death(dying)
    killing.duty(Step("the reconciler", "after asking", []))
    assert (buyer.here(), buyer.there()) == (["released"], ["held"])
    services.holds.environment = without_broker(services.holds.environment)
    services.holds.start()
    assert_agree(services)


def _status(services: TwoServices, buyer: Buyer) -> str:
    return Owner(services.holds.database_url).status(buyer.hold_id)


def _make_due(services: TwoServices, *buyers: Buyer) -> None:
    """The tasks of these buyers, and for now no others."""
    Owner(services.holds.database_url).run(
        "UPDATE inventory_task SET due_at = statement_timestamp() + CASE"
        " WHEN organization_id = ANY (%s::uuid[]) THEN interval '0' ELSE interval '1 hour' END",
        [buyer.platform.organization_id for buyer in buyers],
    )
