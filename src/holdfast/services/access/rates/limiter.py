"""Takes units of rate limits before the work is done, and gives back those that were not used.

Two counts have to allow a request: that of this process, and that of all processes in Valkey or
Redis. The first cannot be lost, so a process never grants more than the limit, even if the second
is down, hangs, restarts empty or is flushed.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from math import ceil

from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.ports.rates import Count, Level, RatesUnavailable, SharedRates, Want
from holdfast.services.access.rates.local import LocalRates

# Always fits, and is an exact number in Lua.
_UNLIMITED = 2**53


@immutable
class Taking:
    """What a request took, or would have taken."""

    organization_id: OrganizationId
    wants: Sequence[Want]
    is_taken: bool
    levels: Sequence[Level]  # after the request, or those that refused it
    local_slots: Sequence[int] = field(default=(), repr=False)
    shared_slots: Sequence[int] = field(default=(), repr=False)

    @property
    def refused_by(self) -> tuple[Want, int | None]:
        """The limit that takes longest to allow the request, and the seconds until then."""
        pairs = zip(self.wants, self.levels, strict=True)
        want, level = max(pairs, key=lambda pair: _wait_of(pair[1]))
        wait = level.wait_seconds
        return want, None if wait is None else max(1, ceil(wait))


def _wait_of(level: Level) -> float:
    return float("inf") if level.wait_seconds is None else level.wait_seconds


class RateLimiter:
    def __init__(self, local: LocalRates, shared: SharedRates | None = None) -> None:
        self._local = local
        self._shared = shared

    async def take(self, organization_id: OrganizationId, wants: Sequence[Want]) -> Taking:
        own = self._local.take(organization_id, wants)
        if not own.is_taken:
            return Taking(organization_id, wants, False, own.levels)
        local_slots = [level.slot for level in own.levels]
        shared = None if own.is_crowded else await self._take_shared(wants)
        if shared is None:
            levels = _after(own, wants)
            return Taking(organization_id, wants, True, levels, local_slots)
        if not shared.is_taken:
            self._local.give_back(organization_id, wants, local_slots)
            return Taking(organization_id, wants, False, shared.levels)
        shared_slots = [level.slot for level in shared.levels]
        levels = _after(shared, wants)
        return Taking(organization_id, wants, True, levels, local_slots, shared_slots)

    def give_back(self, taking: Taking, units: Sequence[int]) -> Taking:
        """Give back so many of each want. Returns what is taken now."""
        wants = [want._replace(units=less) for want, less in zip(taking.wants, units, strict=True)]
        self._local.give_back(taking.organization_id, wants, taking.local_slots)
        if self._shared is not None and taking.shared_slots:
            self._shared.give_back(wants, taking.shared_slots)
        levels = [
            level._replace(used=level.used - less)
            for level, less in zip(taking.levels, units, strict=True)
        ]
        return Taking(taking.organization_id, taking.wants, True, levels)

    async def charge(self, taking: Taking, units: Sequence[int]) -> Taking:
        """Take so many more of each want, even beyond the limit: they are used already, so that the
        next request is refused. Returns what is taken now."""
        wants = [
            want._replace(units=more, rate=replace(want.rate, count=_UNLIMITED))
            for want, more in zip(taking.wants, units, strict=True)
        ]
        charged = await self.take(taking.organization_id, wants)
        return Taking(taking.organization_id, taking.wants, True, charged.levels)

    def close(self) -> None:
        if self._shared is not None:
            self._shared.close()

    async def _take_shared(self, wants: Sequence[Want]) -> Count | None:
        if self._shared is None:
            return None
        try:
            return await self._shared.take(wants)
        except RatesUnavailable:
            return None


def _after(count: Count, wants: Sequence[Want]) -> list[Level]:
    """The levels were read before the units were taken."""
    return [
        level._replace(
            used=level.used + want.units, reset_seconds=level.reset_seconds or want.rate.seconds
        )
        for level, want in zip(count.levels, wants, strict=True)
    ]
