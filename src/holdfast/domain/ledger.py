"""The locked rows of one group, as values. Decisions read it; only whole decisions change it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from holdfast.domain.catalogue import SessionCatalogue
from holdfast.domain.footprint import Resource
from holdfast.domain.hold import Hold
from holdfast.domain.ids import HoldKey, OrganizationId, PoolId, SessionKey
from holdfast.domain.pool import Pool
from holdfast.domain.transitions import Transition, lapse_moves, pool_moves


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """The first answer to an idempotency key, as the entry point rendered it."""

    fingerprint: bytes
    body: bytes


@dataclass(slots=True)
class Ledger:
    """`now` was read from the database's clock after the locks were taken."""

    now: datetime
    sessions: dict[SessionKey, SessionCatalogue] = field(default_factory=dict)
    pools: dict[PoolId, Pool] = field(default_factory=dict)
    # Units by second of lapse. Seconds up to `now` are complete; later ones may be missing.
    lapse: dict[PoolId, dict[datetime, int]] = field(default_factory=dict)
    holds: dict[HoldKey, Hold] = field(default_factory=dict)
    answers: dict[tuple[OrganizationId, UUID], RecordedAnswer] = field(default_factory=dict)
    references: dict[HoldKey, str] = field(default_factory=dict)
    # Locked by someone else: whatever needs one of these is not decided in this group.
    skipped: frozenset[Resource] = frozenset()

    def lapsed_units(self, pool_id: PoolId) -> int:
        """What lapsed holds still occupy of the pool."""
        buckets = self.lapse.get(pool_id)
        if not buckets:
            return 0
        return sum(units for second, units in buckets.items() if second <= self.now)

    def available(self, pool_id: PoolId) -> int:
        """What a buyer may have: lapsed places are free."""
        return self.pools[pool_id].free + self.lapsed_units(pool_id)

    def knows_pools_of(self, hold: Hold) -> bool:
        """Whether every pool that would get something back is locked."""
        return all(pool_id in self.pools for line in hold.lines for pool_id in line.pool_ids)

    def lapsed_holds(self) -> Iterator[Hold]:
        """Oldest first, so that who lapsed first gives back first."""
        lapsed = [hold for hold in self.holds.values() if hold.is_lapsed(self.now)]
        return iter(sorted(lapsed, key=lambda hold: (hold.expires_at, hold.id)))

    def apply(self, transitions: Iterable[Transition]) -> None:
        """All of it or none: the new pools are made, and so checked, before any is kept."""
        transitions = tuple(transitions)
        moved = {
            pool_id: self.pools[pool_id].moved(move.held, move.sold)
            for pool_id, move in pool_moves(transitions).items()
        }
        self.pools.update(moved)
        for transition in transitions:
            self.holds[transition.after.key] = transition.after
        for (pool_id, second), units in lapse_moves(transitions).items():
            buckets = self.lapse.setdefault(pool_id, {})
            buckets[second] = buckets.get(second, 0) + units
