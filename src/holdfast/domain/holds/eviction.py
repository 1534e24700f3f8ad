"""Eviction: expires lapsed holds whose places are needed."""

from collections.abc import Mapping

from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.transitions import Transition, units_by_pool
from holdfast.domain.ids import PoolId
from holdfast.domain.immutable import immutable

EVICTIONS_MAX = 128


@immutable
class Room:
    evictions: tuple[Transition, ...]
    short_pools: frozenset[PoolId]


def make_room(
    ledger: Ledger,
    demand: Mapping[PoolId, int],
    vacated: tuple[Transition, ...],
    origin: Origin,
) -> Room:
    """Expire lapsed holds, oldest first and only as many as needed, until the demand fits. Places
    in `vacated` count. Evicts nothing unless all lapsed holds of the short pools are known, because
    an unknown one might be the oldest."""
    missing = {
        pool_id: units - ledger.pools[pool_id].free
        for pool_id, units in demand.items()
        if units > ledger.pools[pool_id].free
    }
    for transition in vacated:
        _give_back(missing, transition)
    if not missing or not ledger.surveyed_pools.issuperset(missing):
        return Room((), frozenset(missing))
    evictions: list[Transition] = []
    gone = {transition.after.key for transition in vacated}
    for lapsed in ledger.lapsed_holds():
        if lapsed.key in gone or not ledger.knows_places_of(lapsed):
            continue
        if missing.keys().isdisjoint(units_by_pool(lapsed)):
            continue
        evictions.append(Transition(lapsed, lapsed.expired(ledger.now), origin))
        _give_back(missing, evictions[-1])
        if not missing or len(evictions) == EVICTIONS_MAX:
            break
    return Room(tuple(evictions), frozenset(missing))


def _give_back(missing: dict[PoolId, int], transition: Transition) -> None:
    for pool_id, units in units_by_pool(transition.after).items():
        if pool_id in missing:
            missing[pool_id] -= units
            if missing[pool_id] <= 0:
                del missing[pool_id]
