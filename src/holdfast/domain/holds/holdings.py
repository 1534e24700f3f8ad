"""What a holder has, as far as limits per holder count it."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId, SessionId
from holdfast.domain.immutable import immutable

# The longest that a promotion may take from its decision to its commit: the database ends
# transactions that idle for 10 seconds, and statements after 3.
PROMOTION_SECONDS_MAX = 15
_PROMOTION = timedelta(seconds=PROMOTION_SECONDS_MAX)


class LiveHold(NamedTuple):
    """A hold that was active or waiting when it was read."""

    id: HoldId
    session_id: SessionId
    quantity: int
    expires_at: datetime
    is_waiting: bool
    is_cart: bool

    def remaining_seconds(self, now: datetime) -> int:
        return max(0, int((self.expires_at - now).total_seconds()))

    def counts(self, now: datetime) -> bool:
        """Whether it counts towards a limit. A party whose time is up may have been promoted in
        time, by a server that has not committed yet. So it counts until its end is recorded, or
        until that promotion can't commit any more."""
        return now < (self.expires_at + _PROMOTION if self.is_waiting else self.expires_at)


def live_hold(hold: Hold) -> LiveHold:
    return LiveHold(
        hold.id,
        hold.session_id,
        hold.quantity,
        hold.expires_at,
        hold.waiting is not None,
        hold.is_cart,
    )


@immutable
class Holdings:
    """A holder's live holds in a session or in all sessions of an event, including this group's
    changes so far. If there are too many to read, `is_complete` is false, and they are more than
    any limit; waiting holds and carts are read first, and `has_all_carts` says whether all of them
    were. Only for a whole event: the units sold to the holder, and when the holder last gave
    up places."""

    holds: Mapping[HoldId, LiveHold] = field(default_factory=dict)
    sold: int = 0
    given_up_at: datetime | None = None
    is_complete: bool = True
    has_all_carts: bool = True

    def live(self, now: datetime) -> list[LiveHold]:
        """The live holds, the first to expire first."""
        live = (hold for hold in self.holds.values() if hold.counts(now))
        return sorted(live, key=lambda hold: hold.expires_at)

    def live_in(self, session_id: SessionId, now: datetime) -> list[LiveHold]:
        return [hold for hold in self.live(now) if hold.session_id == session_id]

    def last_given_up(self, now: datetime) -> datetime | None:
        """When the holder last let places go without buying them: released, or lapsed, whether
        that is recorded yet or not."""
        return max(self._given_up(now), default=None)

    def _given_up(self, now: datetime) -> Iterator[datetime]:
        if self.given_up_at is not None:
            yield self.given_up_at
        for hold in self.holds.values():
            if hold.expires_at <= now and not hold.is_waiting:
                yield hold.expires_at

    def after(self, hold: Hold) -> "Holdings":
        """With this change of one of the holder's holds."""
        holds = dict(self.holds)  # does not hash the ids again
        sold, given_up_at = self.sold, self.given_up_at
        if hold.is_over():
            holds.pop(hold.id, None)
            sold += hold.quantity if hold.is_converted() else 0
            given_up = (given_up_at, hold.given_up_at)
            given_up_at = max((moment for moment in given_up if moment is not None), default=None)
        else:
            holds[hold.id] = live_hold(hold)
        return Holdings(holds, sold, given_up_at, self.is_complete, self.has_all_carts)

    def without_sold(self, units: int) -> "Holdings":
        """After tickets of the holder were cancelled."""
        return replace(self, sold=self.sold - units)


NOTHING_HELD = Holdings()
