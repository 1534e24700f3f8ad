"""Both sides of a hold are seen at the same time, although it changes while they are looked at."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import cycle, repeat

import pytest

from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.ids import HoldId
from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.ports.inventory.reconciliation import OurSide
from holdfast.ports.inventory.service import Reservation, reservation_of
from holdfast.services.inventory.agreement import Step, remedy_for
from holdfast.services.inventory.comparison import Comparison, Extent
from holdfast.services.inventory.mending import Look, Mender, NotMended
from tests.contract.asking import ask
from tests.reconciler.pair import Pair
from tests.reconciler.test_agreement import NOW, hold
from tests.reconciler.test_comparison import Findings, reserve_for_nobody
from tests.remote.scripted import ScriptedInventory
from tests.support.inventory_service import Fault
from tests.support.patience import wait_until

ACTIVE = hold(HoldStatus.ACTIVE)
CANCELLED = replace(ACTIVE, status=HoldStatus.CANCELLED, version=2)
BEFORE, AFTER = (OurSide(each, {}, False, NOW) for each in (ACTIVE, CANCELLED))
GONE = replace(reservation_of(ACTIVE), status=ReservationStatus.RELEASED)


class Released(ScriptedInventory):
    def find(self, hold_id: HoldId) -> Reservation | None:
        return GONE


def test_a_hold_that_ends_between_the_questions_is_looked_at_again() -> None:
    mender = Mender(Released(), None)  # type: ignore[arg-type]
    reads = iter([BEFORE, *repeat(AFTER, 2)])
    look = mender.look(ACTIVE.id, lambda: next(reads))
    assert (look.ours, look.remedy.step) == (AFTER, Step.NOTHING)
    # With one question to each side, a hold that was released in good order would be wrong.
    assert remedy_for(BEFORE, GONE).step is Step.EXPIRE


def test_a_hold_that_keeps_changing_is_left_for_later() -> None:
    mender = Mender(Released(), None)  # type: ignore[arg-type]
    reads = cycle([BEFORE, AFTER])
    with pytest.raises(NotMended, match="keeps changing"):
        mender.look(ACTIVE.id, lambda: next(reads))


def compared_while_a_hold_ends(pair: Pair) -> list[str]:
    """A hold is released, and both agree about it, after the list of reservations was read."""
    hold = pair.placed()
    pair.service.break_next("list", Fault.HANG_AFTER)
    findings = Findings()
    with ThreadPoolExecutor() as threads:
        running = threads.submit(pair.reconciliation.comparison.run, Extent(), findings)
        wait_until(lambda: pair.service.hanging > 0, "the list is read")
        pair.released(hold)
        pair.reconcile()
        assert not pair.tasks()
        pair.service.resume()
        running.result()
    return findings.differences


def test_an_outdated_list_leads_to_no_findings(pair: Pair) -> None:
    assert compared_while_a_hold_ends(pair) == []


def test_without_another_look_an_outdated_list_would(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_listed(self: Comparison, hold_id: HoldId, read: Callable[[], OurSide | None]) -> Look:
        ours, held = read(), Reservation(hold_id, pair.venue.session_id, {})
        return Look(ours, held, remedy_for(ours, held))

    monkeypatch.setattr(Comparison, "_look", as_listed)
    assert compared_while_a_hold_ends(pair) == ["cancelled here, held there"]


def test_without_the_intent_only_a_comparison_would_find_the_tickets(pair: Pair) -> None:
    """As in a Hold Service that asks first, writes afterwards, and dies in between."""
    hold_id = reserve_for_nobody(pair, pair.venue.session_id)
    pair.reconcile()
    assert pair.service.status(hold_id) == "held", "nobody knows of it"
    pair.reconciliation.comparison.run(Extent(mends=True), Findings())
    assert pair.service.status(hold_id) == "released"


def test_comparisons_during_a_sale_find_and_change_nothing(pair: Pair) -> None:
    findings = Findings()

    def buy(_: int) -> None:
        for step in range(8):
            hold = pair.placed(1)
            if step % 2:
                pair.released(hold)
            else:
                ask(pair.engine, pair.venue.convert(hold.id))
            pair.reconciliation.reconciler.run_once()
            pair.make_due()

    with ThreadPoolExecutor() as threads:
        buying = [threads.submit(buy, number) for number in range(4)]
        while not all(each.done() for each in buying):
            pair.reconciliation.comparison.run(Extent(is_complete=True, mends=True), findings)
        for each in buying:
            each.result()
    assert findings.differences == []
