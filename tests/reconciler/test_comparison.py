"""The comparison of everything finds what no task says, on either side, and mends what it can."""

from dataclasses import dataclass, field
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from holdfast.ports.inventory.reconciliation import Compared
from holdfast.ports.inventory.service import InventoryUnavailable
from holdfast.services.inventory.agreement import Step
from holdfast.services.inventory.comparison import Extent, Finding
from tests.reconciler.pair import Pair
from tests.support.auditing import assert_sound
from tests.support.inventory_service import Fault

CHECK = Extent(is_complete=True)
FIX = Extent(is_complete=True, mends=True)


@dataclass
class Findings:
    found: list[Finding] = field(default_factory=list)

    def __call__(self, found: Finding | Compared) -> None:
        if isinstance(found, Finding):
            self.found.append(found)

    @property
    def differences(self) -> list[str]:
        return [each.difference for each in self.found]

    @property
    def done(self) -> list[tuple[Step, ...]]:
        return [each.done for each in self.found]


def compared(pair: Pair, extent: Extent = CHECK) -> Findings:
    findings = Findings()
    result = pair.reconciliation.comparison.run(extent, findings)
    assert result.differences == len(findings.found)
    assert result.mended == sum(bool(each.done) for each in findings.found)
    return findings


def assert_mended(pair: Pair, *steps: Step) -> None:
    """A check changes nothing, a fix takes these steps, and then nothing differs."""
    before = dict(pair.service.kept)
    assert compared(pair).done == [()]
    assert pair.service.kept == before
    assert compared(pair, FIX).done == [steps]
    assert not compared(pair).found
    assert not pair.tasks()
    assert_sound(pair.world.url)


def reserve_for_nobody(pair: Pair, session_id: object) -> str:
    hold_id = str(uuid4())
    line = {"ticket_type_id": str(pair.venue.ticket_types["standing"]), "quantity": 1}
    body = {"hold_id": hold_id, "session_id": str(session_id), "lines": [line]}
    assert pair.service.hold(body)[0] == 201
    return hold_id


def test_services_that_agree_have_no_differences(pair: Pair) -> None:
    pair.placed()
    pair.sold(pair.placed())
    pair.released(pair.placed())
    pair.reconcile()
    assert not compared(pair).found


def test_what_is_under_way_is_no_difference(pair: Pair) -> None:
    pair.intended()
    pair.sold(pair.placed())
    pair.released(pair.placed())
    assert not compared(pair).found


def test_a_reservation_without_a_hold_is_released(pair: Pair) -> None:
    hold_id = reserve_for_nobody(pair, pair.venue.session_id)
    assert compared(pair).differences == ["unknown here, held there"]
    assert_mended(pair, Step.RELEASE)
    assert pair.service.status(hold_id) == "released"


def test_a_reservation_of_an_unknown_session_is_released_by_hand_only(pair: Pair) -> None:
    hold_id = reserve_for_nobody(pair, uuid4())
    own = Extent((pair.venue.organization_id,), is_complete=True, mends=True)
    assert not compared(pair, own).found, "nobody knows whose it is"
    assert not compared(pair, Extent(mends=True)).found, "nor does the duty, so it changes nothing"
    assert_mended(pair, Step.RELEASE)
    assert pair.service.status(hold_id) == "released"


def test_a_reservation_of_an_ended_hold_is_released(pair: Pair) -> None:
    hold = pair.placed()
    pair.released(hold)
    pair.forget_tasks()
    assert compared(pair).differences == ["cancelled here, held there"]
    assert_mended(pair, Step.RELEASE)


def test_a_hold_that_is_unknown_there_is_reserved_again(pair: Pair) -> None:
    hold = pair.placed()
    pair.service.forget(hold.id)
    assert compared(pair).differences == ["active here, unknown there"]
    assert_mended(pair, Step.RESERVE)
    assert (pair.status(hold.id), pair.service.status(hold.id)) == ("active", "held")


def test_a_hold_whose_tickets_are_gone_ends(pair: Pair) -> None:
    """They were sold to somebody else after a restore there."""
    hold = pair.placed()
    pair.service.forget(hold.id)
    pair.service.default_total = 1
    findings = compared(pair, FIX)
    assert findings.done == [(Step.EXPIRE, Step.RELEASE)]
    assert (pair.status(hold.id), pair.service.status(hold.id)) == ("expired", "released")
    pair.reconcile()
    assert not pair.tasks()
    assert_sound(pair.world.url)


def test_a_hold_that_was_released_there_ends(pair: Pair) -> None:
    hold = pair.placed()
    pair.service.kept[str(hold.id)].status = "released"
    findings = compared(pair, FIX)
    assert findings.done == [(Step.EXPIRE,)]
    assert pair.status(hold.id) == "expired"
    pair.reconcile()
    assert not pair.tasks()


def test_a_sale_that_is_only_held_there_is_committed(pair: Pair) -> None:
    hold = pair.placed()
    pair.sold(hold)
    pair.forget_tasks()
    assert compared(pair).differences == ["sold here, held there"]
    assert_mended(pair, Step.COMMIT)
    assert pair.service.status(hold.id) == "committed"


def test_a_sale_of_fewer_tickets_is_committed_again(pair: Pair) -> None:
    hold = pair.placed(3)
    pair.sold(hold)
    pair.reconcile()
    with pair.world.connected() as connection:
        connection.execute("UPDATE ticket SET voided_at = now(), voided_version = 2")
        # As the cancellation of the whole order; its task got lost.
        assert compared(pair).differences == ["fewer tickets are sold here than there"]
    assert compared(pair, FIX).done == [(Step.COMMIT,)]
    assert pair.service.lines(hold.id) == {}


def test_a_sale_that_is_unknown_there_is_listed_and_kept(pair: Pair) -> None:
    hold = pair.placed()
    pair.sold(hold)
    pair.reconcile()
    pair.service.forget(hold.id)
    for _ in range(2):
        assert compared(pair).differences == ["sold here, unknown there"]
    assert compared(pair, FIX).done == [()]
    ((_, _, problem, is_contradiction),) = pair.tasks()
    assert (problem, is_contradiction) == ("sold here, unknown there", True)
    assert not compared(pair).found, "the reconciler knows"
    (stuck,) = pair.reconciliation.tasks.stuck([hold.organization_id], 10)
    assert (stuck.hold_id, stuck.problem) == (hold.id, problem)


def test_a_sale_that_is_unknown_here_is_listed(pair: Pair) -> None:
    hold_id = reserve_for_nobody(pair, pair.venue.session_id)
    pair.service.kept[hold_id].status = "committed"
    assert compared(pair, FIX).differences == ["unknown here, committed there"]
    assert pair.service.status(hold_id) == "committed"


def test_lists_of_several_pages_are_read_to_the_end(pair: Pair) -> None:
    holds = [pair.placed() for _ in range(3)]
    orphans = [reserve_for_nobody(pair, pair.venue.session_id) for _ in range(250)]
    result = pair.reconciliation.comparison.run(FIX, Findings())
    assert result == Compared(253, 3, 250, 250)
    assert {pair.service.status(each) for each in orphans} == {"released"}
    assert {pair.service.status(hold.id) for hold in holds} == {"held"}


def test_only_the_named_organization_is_compared(pair: Pair) -> None:
    hold = pair.placed()
    pair.service.forget(hold.id)
    other = pair.world.venue({"floor": 1}, {"standing": ("floor",)})
    assert not compared(pair, Extent((other.organization_id,), is_complete=True)).found
    assert compared(pair, Extent((hold.organization_id,), is_complete=True)).found


def test_the_duty_compares_what_is_not_over_and_keeps_the_result(pair: Pair) -> None:
    hold_id = reserve_for_nobody(pair, pair.venue.session_id)
    hold = pair.placed()
    duty = pair.reconciliation.comparison_duty
    with capture_logs() as logs:
        assert 1 <= duty.tend(600) <= 600
    (difference,) = (line for line in logs if line["event"] == "comparison.difference")
    assert (difference["hold_id"], difference["done"]) == (hold_id, ["release"])
    state = pair.reconciliation.reconciler.state()
    assert state.compared == Compared(reservations=2, holds=1, differences=1, mended=1)
    assert state.compared_at is not None
    listed = pair.service.count("list")
    duty.tend(600)
    assert pair.service.count("list") == listed, "it is not due"
    assert pair.status(hold.id) == "active"


def test_an_unavailable_service_is_reported(pair: Pair) -> None:
    pair.service.break_next("list", Fault.FAIL_BEFORE)
    with pytest.raises(InventoryUnavailable, match="it answered 500"):
        compared(pair)
    pair.service.break_next("list", Fault.FAIL_BEFORE)
    with capture_logs() as logs:
        pair.reconciliation.comparison_duty.tend(600)
    assert [line["event"] for line in logs if line["log_level"] == "warning"] == [
        "comparison.failed"
    ]
    assert pair.reconciliation.reconciler.state().compared_at is None
