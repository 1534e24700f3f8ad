"""kill -9 of the Inventory Service at each step of a hold, told to it by calls and by messages.
Both services agree again within a minute."""

from collections.abc import Callable

import pytest

from tests.crash.points import await_death
from tests.remote.agreement import assert_agree
from tests.remote.crash.buyers import Buyer
from tests.remote.crash.killing import Killing, quick, steps_of
from tests.remote.layout import TwoServices
from tests.support.patience import wait_until

LONG = [pytest.mark.long, pytest.mark.timeout(600)]
RESERVING = steps_of("ReserveTickets", [["released"], ["absent"]], [["released"], ["held"]])
COMMITTING = steps_of("CommitTickets", [["committed"], ["held"]], [["committed"], ["committed"]])
RELEASING = steps_of("ReleaseTickets", [["released"], ["held"]], [["released"], ["released"]])


@pytest.mark.parametrize("is_quick", [True, pytest.param(False, marks=LONG)], ids=["quick", "all"])
def test_killed_while_it_reserves_tickets(
    services: TwoServices, killing: Killing, new_buyer: Callable[[], Buyer], is_quick: bool
) -> None:
    steps = RESERVING[-1:] if is_quick else RESERVING
    buyers = [new_buyer() for _ in steps]
    for step, buyer in zip(steps, buyers, strict=True):
        dying = killing.inventory(step)
        assert buyer.places().status == 503
        await_death(dying)
        assert (buyer.here(), buyer.there()) == (step.here, step.there), f"it died at {step}"
    services.inventory.start()
    for buyer in buyers:
        wait_until(lambda buyer=buyer: buyer.repeats().status == 201, "the hold is placed")  # type: ignore[misc]
    assert_agree(services)
    for buyer in buyers:
        assert buyer.here()[0] == buyer.there()[0] == "held"


@pytest.mark.parametrize(
    ("is_quick", "by"),
    [
        (True, "messages"),
        pytest.param(False, "messages", marks=LONG),
        pytest.param(False, "calls", marks=LONG),
    ],
)
def test_killed_while_holds_end(
    services: TwoServices,
    killing: Killing,
    new_buyer: Callable[[], Buyer],
    is_quick: bool,
    by: str,
) -> None:
    """Without a broker it gets no messages, and the reconciler calls it."""
    paying, releasing, lapsing = buyers = [new_buyer() for _ in range(3)]
    for buyer in buyers:
        assert buyer.places().status == 201
    for steps, buyer in ((COMMITTING, paying), (RELEASING, releasing)):
        tried = quick(steps) if is_quick else steps
        services.inventory.stop()
        assert (buyer.pays if buyer is paying else buyer.releases)().status == 200
        for step in tried:
            dying = killing.inventory(step, has_broker=by == "messages")
            await_death(dying)
            assert (buyer.here(), buyer.there()) == (step.here, step.there), f"it died at {step}"
    lapsing.lets_it_lapse()
    services.inventory.start()
    assert_agree(services)
    assert [buyer.here() for buyer in buyers] == [["committed"], ["released"], ["released"]]
