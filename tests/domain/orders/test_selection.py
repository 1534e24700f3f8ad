"""The expired part of a buyer's selection, and how long it is reported."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from holdfast.domain.holds.hold import Hold, HoldStatus, Line, LineSeat, Remarks
from holdfast.domain.ids import BlockId, HoldId, OrganizationId, SeatId, SessionId, TicketTypeId
from holdfast.domain.orders.selection import lost_of_selection
from holdfast.domain.values import Holder

NOON = datetime(2030, 1, 15, 12, tzinfo=UTC)
ADULT, CHILD = (TicketTypeId(uuid4()) for _ in range(2))
SEATS = [LineSeat(SeatId(uuid4()), BlockId(uuid4()), "Stalls", "A", "1", 1) for _ in range(2)]


def at(minute: float) -> datetime:
    return NOON + timedelta(minutes=minute)


def hold(
    begun: float,
    ends: float,
    ticket_type: TicketTypeId = ADULT,
    seat: LineSeat | None = None,
    status: HoldStatus = HoldStatus.ACTIVE,
) -> Hold:
    return Hold(
        organization_id=OrganizationId(uuid4()),
        id=HoldId(uuid4()),
        session_id=SessionId(uuid4()),
        reference="ABC",
        holder=Holder(user_id="ada"),
        lines=(Line(ticket_type, 1, 1000, (), seat),),
        currency="EUR",
        status=status,
        version=1,
        created_at=at(begun),
        updated_at=at(begun),
        held_at=at(begun),
        expires_at=at(ends),
    )


def lost(now: float, *holds: Hold) -> list[Hold]:
    return lost_of_selection([each for each in holds if each.is_active(at(now))], holds, at(now))


LIVE = hold(5, 15, CHILD)


@pytest.mark.parametrize("status", [HoldStatus.ACTIVE, HoldStatus.EXPIRED])
def test_a_lapsed_hold_is_lost_whether_or_not_the_reaper_came(status: HoldStatus) -> None:
    lapsed = hold(0, 10, status=status)
    assert lost(11, lapsed, LIVE) == [lapsed]


@pytest.mark.parametrize("status", [HoldStatus.CANCELLED, HoldStatus.CONVERTED])
def test_released_and_paid_holds_are_not_lost(status: HoldStatus) -> None:
    assert lost(11, hold(0, 10, status=status), LIVE) == []


def test_holds_that_expired_before_the_first_live_one_are_ignored() -> None:
    assert lost(11, hold(-6, 4), LIVE) == []
    assert lost(11, hold(-5, 5), LIVE) == []


def test_an_expired_waiting_hold_is_not_lost() -> None:
    waited = replace(hold(0, 10, status=HoldStatus.EXPIRED), held_at=None)
    assert lost(11, waited, LIVE) == []


def test_a_hold_that_was_paid_late_is_not_lost() -> None:
    lapsed = hold(0, 10, status=HoldStatus.EXPIRED)
    revived = replace(hold(11, 12, status=HoldStatus.CONVERTED), revives=lapsed.id)
    other = replace(revived, lines=LIVE.lines)
    assert lost(13, lapsed, LIVE, other) == []


@pytest.mark.parametrize("status", [HoldStatus.ACTIVE, HoldStatus.CANCELLED, HoldStatus.CONVERTED])
def test_a_selection_held_again_is_not_lost(status: HoldStatus) -> None:
    for begun in (10, 10.5):
        assert lost(11, hold(0, 10), LIVE, hold(begun, 20, status=status)) == []


def test_holding_another_seat_does_not_replace_a_lost_one() -> None:
    first, other = (hold(0, 10, seat=SEATS[0]), hold(10.5, 20, seat=SEATS[1]))
    assert lost(11, first, LIVE, other) == [first]
    assert lost(11, first, LIVE, hold(10.5, 20, seat=SEATS[0])) == []


def test_a_cart_that_was_filled_again_is_not_lost() -> None:
    def of_cart(each: Hold, name: str) -> Hold:
        return replace(each, remarks=Remarks(cart_token=name), is_cart=True)

    first = of_cart(hold(0, 10), "mine")
    again = hold(10.5, 20, CHILD)
    assert lost(11, first, LIVE, of_cart(again, "mine")) == []
    assert lost(11, first, LIVE, of_cart(again, "other")) == [first]


def test_the_last_selection_counts_if_nothing_is_live() -> None:
    first, second, third = hold(-20, -10), hold(0, 10), hold(5, 15, CHILD)
    assert lost(16, first, second, third) == [second, third]
    assert lost(16, first, second, replace(third, status=HoldStatus.CONVERTED)) == [second]
    assert lost(16) == []
