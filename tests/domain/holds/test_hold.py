"""Holds answer questions about a given time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from holdfast.domain.holds.hold import Hold, HoldStatus, Line, rounded_up, warning_time
from holdfast.domain.ids import (
    CheckoutId,
    HoldId,
    OrderId,
    OrganizationId,
    PoolId,
    SessionId,
    TicketTypeId,
)
from holdfast.domain.values import EmailAddress, Holder

NOW = datetime(2030, 1, 15, 10, 20, tzinfo=UTC)
END = NOW + timedelta(minutes=10)
BEFORE_END = END - timedelta(microseconds=1)
SECOND = timedelta(seconds=1)
CHECKOUT = CheckoutId(uuid4())
ORDER = OrderId(uuid4())


def a_hold(status: HoldStatus = HoldStatus.ACTIVE) -> Hold:
    return Hold(
        organization_id=OrganizationId(uuid4()),
        id=HoldId(uuid4()),
        session_id=SessionId(uuid4()),
        reference="ABC234",
        holder=Holder(EmailAddress("user@example.com")),
        lines=(
            Line(TicketTypeId(uuid4()), 2, 4500, (PoolId(uuid4()),)),
            Line(TicketTypeId(uuid4()), 1, 1000, (PoolId(uuid4()),)),
        ),
        currency="EUR",
        status=status,
        version=1,
        created_at=NOW,
        updated_at=NOW,
        held_at=NOW,
        expires_at=END,
    )


def test_a_hold_is_live_until_the_moment_it_ends() -> None:
    hold = a_hold()
    assert hold.is_active(BEFORE_END)
    assert hold.can_convert(BEFORE_END)
    assert hold.can_release(BEFORE_END)
    assert not hold.can_expire(BEFORE_END)
    assert not hold.is_active(END)
    assert not hold.can_convert(END)
    assert not hold.can_release(END)
    assert hold.can_expire(END)


def test_a_lapsed_hold_looks_expired_but_still_occupies_its_places() -> None:
    hold = a_hold()
    assert hold.is_lapsed(END)
    assert hold.is_expired(END)
    assert hold.status is HoldStatus.ACTIVE
    assert hold.status_at(END) is HoldStatus.EXPIRED
    assert hold.occupies_places()
    expired = hold.expired(END)
    assert not expired.is_lapsed(END)
    assert expired.is_expired(BEFORE_END)
    assert not expired.occupies_places()
    assert (expired.version, expired.expired_at) == (2, END)


def test_a_hold_that_is_ended_early_expires_at_the_end_of_this_second() -> None:
    hold = a_hold()
    for moment, until in ((NOW, NOW + SECOND), (NOW + SECOND / 2, NOW + SECOND)):
        ended = hold.expired_early(moment)
        assert ended.status is HoldStatus.EXPIRED
        assert (ended.expired_at, ended.expires_at, ended.version) == (moment, until, 2)
        assert ended.given_up_at is None, "its holder did not let it go"
        assert not ended.occupies_places()
    assert hold.expired_early(END - SECOND / 2).expires_at == END


@pytest.mark.parametrize("status", [HoldStatus.CONVERTED, HoldStatus.EXPIRED, HoldStatus.CANCELLED])
def test_an_ended_hold_cannot_end_again(status: HoldStatus) -> None:
    hold = a_hold(status)
    for moment in (BEFORE_END, END):
        assert not hold.can_expire(moment)
        assert not hold.can_convert(moment)
        assert not hold.can_release(moment)
    with pytest.raises(AssertionError):
        hold.expired(END)
    with pytest.raises(AssertionError):
        hold.released(NOW)


def test_each_end_sets_its_status() -> None:
    assert a_hold(HoldStatus.CONVERTED).is_converted()
    assert a_hold().released(NOW).is_cancelled()
    assert a_hold().released(NOW).cancelled_at == NOW


def test_remaining_seconds_are_rounded_down_and_never_negative() -> None:
    hold = a_hold()
    assert hold.remaining_seconds(NOW) == 600
    assert hold.remaining_seconds(BEFORE_END) == 0
    assert hold.remaining_seconds(END) == 0
    assert hold.remaining_seconds(END + timedelta(days=3)) == 0
    assert hold.released(NOW).remaining_seconds(NOW) == 0


def test_a_hold_sums_its_lines() -> None:
    hold = a_hold()
    assert (hold.quantity, hold.total.minor) == (3, 10_000)


def test_an_expiry_is_rounded_up_to_a_whole_second() -> None:
    assert rounded_up(NOW) == NOW
    assert rounded_up(NOW + timedelta(microseconds=1)) == NOW + timedelta(seconds=1)


def test_every_change_raises_the_version() -> None:
    hold = replace(a_hold(), version=7, warn_at=NOW)
    assert hold.released(NOW).version == 8
    assert hold.warned(NOW).version == 8
    assert hold.extended(NOW, END + SECOND, 0).version == 8
    assert hold.checked_out(NOW, CHECKOUT, END, 0).version == 8
    assert hold.converted(NOW, ORDER).version == 8


def test_only_a_live_hold_can_be_extended_and_never_shortened() -> None:
    hold = a_hold()
    assert hold.can_extend(BEFORE_END)
    assert not hold.can_extend(END)
    assert hold.extended(BEFORE_END, END + SECOND, 0).expires_at == END + SECOND
    for until in (END, END - SECOND):
        with pytest.raises(AssertionError):
            hold.extended(NOW, until, 0)
        assert hold.checked_out(NOW, CHECKOUT, until, 0).expires_at == END
    with pytest.raises(AssertionError):
        hold.extended(END, END + SECOND, 0)
    with pytest.raises(AssertionError):
        hold.checked_out(END, CHECKOUT, END + SECOND, 0)


def test_a_hold_is_due_at_the_warning_then_at_the_end() -> None:
    warn_at = END - SECOND
    hold = replace(a_hold(), warn_at=warn_at)
    assert hold.due_at == warn_at
    assert not hold.can_warn(warn_at - timedelta(microseconds=1))
    assert hold.can_warn(warn_at)
    assert not hold.can_warn(END)
    warned = hold.warned(warn_at)
    assert warned.due_at == END
    assert not warned.can_warn(BEFORE_END)


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, None), (60, END - 60 * SECOND), (600, None), (601, None)]
)
def test_a_warning_falls_between_now_and_the_end_or_is_skipped(
    seconds: int, expected: datetime | None
) -> None:
    assert warning_time(NOW, END, seconds) == expected


def test_an_ended_hold_has_no_warning_due() -> None:
    hold = replace(a_hold(), warn_at=NOW)
    for ended in (hold.released(NOW), hold.converted(NOW, ORDER), hold.expired(END)):
        assert ended.warn_at is None
        assert ended.due_at == END


def test_a_converted_hold_knows_its_order() -> None:
    converted = a_hold().converted(NOW, ORDER)
    assert (converted.is_converted(), converted.order_id) == (True, ORDER)
    assert converted.confirmed_at == NOW
    with pytest.raises(AssertionError):
        a_hold().converted(END, ORDER)
