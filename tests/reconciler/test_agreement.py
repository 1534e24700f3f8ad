"""What has to be done, for every pair of states."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from holdfast.domain.holds.hold import Hold, HoldStatus, Line
from holdfast.domain.ids import HoldId, OrganizationId, SessionId, TicketTypeId
from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.domain.values import EmailAddress, Holder
from holdfast.ports.inventory.reconciliation import OurSide
from holdfast.ports.inventory.service import Reservation, reservation_of
from holdfast.services.inventory.agreement import Step, remedy_for

NOW = datetime(2026, 11, 20, tzinfo=UTC)
STALLS, BOX = TicketTypeId(uuid4()), TicketTypeId(uuid4())
HELD, RELEASED, COMMITTED = ReservationStatus


def hold(status: HoldStatus) -> Hold:
    return Hold(
        OrganizationId(uuid4()),
        HoldId(uuid4()),
        SessionId(uuid4()),
        "ABCDEF",
        Holder(EmailAddress("buyer@example.com")),
        (Line(STALLS, 2, 4500, ()), Line(BOX, 1, 9000, (), number=1)),
        "EUR",
        status,
        1,
        NOW,
        NOW,
        None,
        NOW + timedelta(minutes=10),
    )


def step(
    status: HoldStatus,
    there: ReservationStatus | None,
    *,
    sold: dict[TicketTypeId, int] | None = None,
    lines: dict[TicketTypeId, int] | None = None,
    is_lapsed: bool = False,
) -> Step:
    ours = hold(status)
    theirs = reservation_of(ours)
    if there is None:
        found = None
    else:
        found = replace(theirs, status=there, lines=theirs.lines if lines is None else lines)
    at = NOW + timedelta(minutes=10 if is_lapsed else 1)
    return remedy_for(OurSide(ours, sold or {}, True, at), found).step


@pytest.mark.parametrize("there", [None, *ReservationStatus])
def test_a_pending_hold_fails_first(there: ReservationStatus | None) -> None:
    assert step(HoldStatus.PENDING, there) is Step.FAIL


@pytest.mark.parametrize("status", [HoldStatus.FAILED, HoldStatus.EXPIRED, HoldStatus.CANCELLED])
def test_an_ended_hold_is_released(status: HoldStatus) -> None:
    assert step(status, None) is Step.RELEASE, "its call may still arrive"
    assert step(status, HELD) is Step.RELEASE
    assert step(status, RELEASED) is Step.NOTHING
    assert step(status, COMMITTED) is Step.ALARM


def test_an_active_hold_keeps_its_tickets() -> None:
    active = HoldStatus.ACTIVE
    assert step(active, HELD) is Step.NOTHING
    assert step(active, HELD, lines={STALLS: 2}) is Step.ALARM
    assert step(active, None) is Step.RESERVE
    assert step(active, RELEASED) is Step.EXPIRE, "a released hold cannot be reserved again"
    assert step(active, COMMITTED) is Step.ALARM


@pytest.mark.parametrize("there", [None, *ReservationStatus])
def test_a_lapsed_hold_is_left_to_the_reaper(there: ReservationStatus | None) -> None:
    assert step(HoldStatus.ACTIVE, there, is_lapsed=True) is Step.NOTHING


def test_a_sale_is_committed_with_the_tickets_that_are_still_sold() -> None:
    sale = HoldStatus.CONVERTED
    everything, less = {STALLS: 2, BOX: 1}, {STALLS: 1}
    assert step(sale, HELD, sold=everything) is Step.COMMIT
    assert step(sale, COMMITTED, sold=everything) is Step.NOTHING
    assert step(sale, COMMITTED, sold=less) is Step.COMMIT
    assert step(sale, COMMITTED, sold={}) is Step.COMMIT
    assert step(sale, COMMITTED, sold={}, lines={}) is Step.NOTHING
    assert step(sale, HELD, sold={}) is Step.COMMIT


def test_a_sale_that_may_happen_twice_needs_a_person() -> None:
    sale = HoldStatus.CONVERTED
    assert step(sale, None, sold={STALLS: 1}) is Step.ALARM
    assert step(sale, RELEASED, sold={STALLS: 1}) is Step.ALARM
    assert step(sale, COMMITTED, sold={STALLS: 2, BOX: 1}, lines={STALLS: 2}) is Step.ALARM
    assert step(sale, HELD, sold={STALLS: 3}) is Step.ALARM


def test_nothing_is_sold_twice_after_all_tickets_were_cancelled() -> None:
    assert step(HoldStatus.CONVERTED, None) is Step.NOTHING
    assert step(HoldStatus.CONVERTED, RELEASED) is Step.NOTHING


def test_a_reservation_of_an_unknown_hold_is_released() -> None:
    found = Reservation(HoldId(uuid4()), SessionId(uuid4()), {STALLS: 1})
    assert remedy_for(None, found).step is Step.RELEASE
    assert remedy_for(None, replace(found, status=RELEASED)).step is Step.NOTHING
    assert remedy_for(None, replace(found, status=COMMITTED)).step is Step.ALARM
    assert remedy_for(None, None).step is Step.NOTHING


def test_a_sale_of_which_nothing_is_left_concerns_nobody() -> None:
    """As the conformance suite leaves them."""
    unknown = replace(reservation_of(hold(HoldStatus.ACTIVE)), status=COMMITTED)
    assert remedy_for(None, unknown).step is Step.ALARM
    assert remedy_for(None, replace(unknown, lines={})).step is Step.NOTHING


@pytest.mark.parametrize(
    ("status", "step"),
    [
        (HoldStatus.FAILED, Step.NOTHING),
        (HoldStatus.EXPIRED, Step.NOTHING),
        (HoldStatus.ACTIVE, Step.ALARM),
        (HoldStatus.CONVERTED, Step.ALARM),
    ],
)
def test_a_reservation_of_another_session_is_left_alone(status: HoldStatus, step: Step) -> None:
    """It belongs to a hold of somebody else who has chosen the same id."""
    ours = hold(status)
    theirs = replace(reservation_of(ours), session_id=SessionId(uuid4()))
    assert remedy_for(OurSide(ours, {STALLS: 2}, False, NOW), theirs).step is step
