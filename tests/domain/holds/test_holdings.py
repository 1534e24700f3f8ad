"""What a holder has, at the moment of a decision."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from holdfast.domain.holds.holdings import PROMOTION_SECONDS_MAX, Holdings, LiveHold
from holdfast.domain.ids import HoldId, SessionId

END = datetime(2026, 6, 1, 20, tzinfo=UTC)
MOMENT = timedelta(microseconds=1)


def holdings(*, is_waiting: bool) -> Holdings:
    """One hold, which was live when it was read."""
    hold = LiveHold(HoldId(uuid4()), SessionId(uuid4()), 2, END, is_waiting, is_cart=False)
    return Holdings({hold.id: hold})


def test_a_hold_that_lapses_before_the_decision_was_given_up() -> None:
    held = holdings(is_waiting=False)
    assert (len(held.live(END - MOMENT)), held.last_given_up(END - MOMENT)) == (1, None)
    assert (len(held.live(END)), held.last_given_up(END)) == (0, END)


def test_a_party_whose_time_is_up_counts_until_its_promotion_must_have_committed() -> None:
    waiting = holdings(is_waiting=True)
    late = END + timedelta(seconds=PROMOTION_SECONDS_MAX)
    assert [len(waiting.live(at)) for at in (END, late - MOMENT, late)] == [1, 1, 0]
    assert waiting.last_given_up(late) is None, "it had no places"
    (hold,) = waiting.live(END)
    assert hold.remaining_seconds(late) == 0


@pytest.mark.parametrize("given_up_at", [END - MOMENT, END + MOMENT])
def test_the_later_of_a_lapse_and_a_release_starts_the_cooldown(given_up_at: datetime) -> None:
    held = holdings(is_waiting=False)
    both = Holdings(held.holds, given_up_at=given_up_at)
    assert both.last_given_up(END + MOMENT) == max(END, given_up_at)
