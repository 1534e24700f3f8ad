"""Counts what this process has granted, in bounded memory. One organization cannot displace the
counts of another."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from holdfast.domain.ids import OrganizationId
from holdfast.ports.rates import SLOTS, Count, Level, Want

# Counts kept for one limit of an organization. Beyond that, the one unused for the longest is
# forgotten, so changing addresses cannot displace the seats of buyers.
COUNTS_MAX = 50_000
# Counts kept in all. Beyond that, the limit that has most of them forgets one. A count has 0.7 KB,
# or up to 3 KB if it was used in each of its slots: 70 to 300 MB in the worst case.
COUNTS_IN_ALL_MAX = 100_000
# Ended counts removed for each want.
_REMOVED_MAX = 2


class _Window:
    """What was taken in each slot, oldest first."""

    __slots__ = ("taken", "used")

    def __init__(self) -> None:
        self.taken: dict[int, int] = {}
        self.used = 0

    def forget_before(self, slot: int) -> None:
        while self.taken and slot - (first := next(iter(self.taken))) > SLOTS:
            self.used -= self.taken.pop(first)

    def level(self, want: Want, slot: int, now: float) -> Level:
        width = want.rate.seconds / SLOTS
        too_many = self.used + want.units - want.rate.count if want.units else 0
        ends = [(taken_in + SLOTS + 1) * width - now for taken_in in self.taken]
        wait: float | None = 0.0 if too_many <= 0 else None
        for end, units in zip(ends, self.taken.values(), strict=True):
            if too_many <= 0:
                break
            too_many -= units
            wait = end if too_many <= 0 else None
        return Level(self.used, slot, ends[0] if ends else 0.0, wait)

    def take(self, slot: int, units: int) -> None:
        self.taken[slot] = self.taken.get(slot, 0) + units
        self.used += units

    def give_back(self, slot: int, units: int) -> None:
        units = min(units, self.taken.get(slot, 0))
        if units:
            self.taken[slot] -= units
            self.used -= units


# One limit: its organization, name and period. All its counts last equally long.
_Limit = tuple[OrganizationId, str, int]
_Windows = OrderedDict[str, _Window]
_NONE: _Windows = OrderedDict()


class LocalRates:
    """Used on the event loop only, and never waits."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        counts_max: int = COUNTS_MAX,
        counts_in_all_max: int = COUNTS_IN_ALL_MAX,
    ) -> None:
        self._clock = clock
        self._counts_max = counts_max
        self._counts_in_all_max = counts_in_all_max
        self._windows: OrderedDict[_Limit, _Windows] = OrderedDict()
        self._size = 0

    def take(self, organization_id: OrganizationId, wants: Sequence[Want]) -> Count:
        """All or nothing."""
        now = self._clock()
        for want in wants:
            self._remove_ended(_limit(organization_id, want), now)
        if self._windows:
            # Of limits that nobody uses any more, too: each has its turn.
            self._remove_ended(next(iter(self._windows)), now)
        crowded = [self._make_room(_limit(organization_id, want), want.key) for want in wants]
        found = [self._window(_limit(organization_id, want), want, now) for want in wants]
        levels = [
            window.level(want, _slot(want.rate.seconds, now), now)
            for window, want in zip(found, wants, strict=True)
        ]
        is_taken = all(level.wait_seconds == 0 for level in levels)
        if is_taken:
            for window, want, level in zip(found, wants, levels, strict=True):
                window.take(level.slot, want.units)
        return Count(is_taken, levels, any(crowded))

    def give_back(
        self, organization_id: OrganizationId, wants: Sequence[Want], slots: Sequence[int]
    ) -> None:
        for want, slot in zip(wants, slots, strict=True):
            windows = self._windows.get(_limit(organization_id, want))
            window = None if windows is None else windows.get(want.key)
            if window is not None:
                window.give_back(slot, want.units)

    def __len__(self) -> int:
        return self._size

    def _window(self, limit: _Limit, want: Want, now: float) -> _Window:
        windows = self._windows.setdefault(limit, OrderedDict())
        window = windows.get(want.key)
        if window is None:
            window = windows[want.key] = _Window()
            self._size += 1
        windows.move_to_end(want.key)
        window.forget_before(_slot(want.rate.seconds, now))
        return window

    def _make_room(self, limit: _Limit, key: str) -> bool:
        """Forget a count if a new one needs its room. Whether this limit has too many."""
        windows = self._windows.get(limit, _NONE)
        if key in windows:
            return False
        full = limit if len(windows) >= self._counts_max else None
        if full is None and self._size >= self._counts_in_all_max:
            full = max(self._windows, key=lambda each: len(self._windows[each]))
        if full is not None:
            self._windows[full].popitem(last=False)
            self._size -= 1
        return full == limit

    def _remove_ended(self, limit: _Limit, now: float) -> None:
        windows = self._windows.get(limit)
        if windows is None:
            return
        self._windows.move_to_end(limit)
        for _ in range(min(_REMOVED_MAX, len(windows))):
            key, window = next(iter(windows.items()))
            window.forget_before(_slot(limit[-1], now))
            if window.used:
                return
            del windows[key]
            self._size -= 1
        if not windows:
            del self._windows[limit]


def _limit(organization_id: OrganizationId, want: Want) -> _Limit:
    return (organization_id, want.name, want.rate.seconds)


def _slot(seconds: int, now: float) -> int:
    return int(now * SLOTS / seconds)
