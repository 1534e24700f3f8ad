"""What this process has granted. Memory is bounded, and one organization cannot displace the counts
of another."""

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence

from holdfast.domain.access.rates import Rate
from holdfast.domain.ids import OrganizationId
from holdfast.ports.rates import SLOTS, Count, Level, Want

# Counts kept for one organization. Beyond that, the one unused for the longest is forgotten.
COUNTS_MAX = 50_000
# Ended counts removed for each request.
_REMOVED_MAX = 2


class _Window:
    """What was taken in each slot, oldest first."""

    __slots__ = ("rate", "taken", "used")

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.taken: deque[list[int]] = deque()
        self.used = 0

    def forget_before(self, slot: int) -> None:
        while self.taken and slot - self.taken[0][0] > SLOTS:
            self.used -= self.taken.popleft()[1]

    def level(self, want: Want, slot: int, now: float) -> Level:
        width = want.rate.seconds / SLOTS
        too_many = self.used + want.units - want.rate.count if want.units else 0
        ends = [(taken_in + SLOTS + 1) * width - now for taken_in, _ in self.taken]
        wait: float | None = 0.0 if too_many <= 0 else None
        for end, (_, units) in zip(ends, self.taken, strict=True):
            if too_many <= 0:
                break
            too_many -= units
            wait = end if too_many <= 0 else None
        return Level(self.used, slot, ends[0] if ends else 0.0, wait)

    def take(self, slot: int, units: int) -> None:
        if self.taken and self.taken[-1][0] == slot:
            self.taken[-1][1] += units
        else:
            self.taken.append([slot, units])
        self.used += units

    def give_back(self, slot: int, units: int) -> None:
        for each in self.taken:
            if each[0] == slot:
                units = min(units, each[1])
                each[1] -= units
                self.used -= units


class LocalRates:
    """Used on the event loop only, and never waits."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, counts_max: int = COUNTS_MAX
    ) -> None:
        self._clock = clock
        self._counts_max = counts_max
        self._windows: dict[OrganizationId, OrderedDict[str, _Window]] = {}

    def take(self, organization_id: OrganizationId, wants: Sequence[Want]) -> Count:
        """All or nothing."""
        now = self._clock()
        windows = self._windows.setdefault(organization_id, OrderedDict())
        self._remove_ended(windows, now)
        found = [self._window(windows, want, now) for want in wants]
        levels = [
            window.level(want, _slot(want.rate, now), now)
            for window, want in zip(found, wants, strict=True)
        ]
        is_taken = all(level.wait_seconds == 0 for level in levels)
        if is_taken:
            for window, want, level in zip(found, wants, levels, strict=True):
                window.take(level.slot, want.units)
        return Count(is_taken, levels)

    def give_back(
        self, organization_id: OrganizationId, wants: Sequence[Want], slots: Sequence[int]
    ) -> None:
        windows = self._windows.get(organization_id, OrderedDict())
        for want, slot in zip(wants, slots, strict=True):
            window = windows.get(want.key)
            if window is not None:
                window.give_back(slot, want.units)

    def __len__(self) -> int:
        return sum(map(len, self._windows.values()))

    def _window(self, windows: OrderedDict[str, _Window], want: Want, now: float) -> _Window:
        window = windows.get(want.key)
        if window is None:
            window = windows[want.key] = _Window(want.rate)
            if len(windows) > self._counts_max:
                windows.popitem(last=False)
        windows.move_to_end(want.key)
        window.forget_before(_slot(want.rate, now))
        return window

    def _remove_ended(self, windows: OrderedDict[str, _Window], now: float) -> None:
        for _ in range(_REMOVED_MAX):
            key, window = next(iter(windows.items()), (None, None))
            if key is None or window is None:
                return
            window.forget_before(_slot(window.rate, now))
            if window.used:
                return
            del windows[key]


def _slot(rate: Rate, now: float) -> int:
    return int(now * SLOTS / rate.seconds)
