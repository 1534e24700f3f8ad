"""Partial fulfilment: how many tickets each ask with `at_least` gets."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.transitions import units_by_pool
from holdfast.domain.holds.new_hold import Part
from holdfast.domain.holds.placement import Ask
from holdfast.domain.ids import PoolId
from holdfast.domain.seats.seat_choice import Picked
from holdfast.domain.values import Quantity
from holdfast.domain.waitlist.fairness import first_of, may_be_passed, open_waitlist

NOTHING: Mapping[PoolId, int] = {}


def fulfil_partially(
    ledger: Ledger,
    session: SessionCatalog,
    parts: Sequence[Part],
    picked: Picked,
    given_up: Mapping[PoolId, int] = NOTHING,
) -> list[Part]:
    """Give every part its minimum first, then share out the rest in order. Units in `given_up`
    count as free. If even the minimum is short, keep the full quantities so that the refusal says
    what is missing."""
    if not any(isinstance(part.ask, Ask) and part.ask.at_least is not None for part in parts):
        return list(parts)
    least: Counter[PoolId] = Counter()
    for part in parts:
        _count_least(least, session, part, picked)
    left = {pool: _room(ledger, session, pool) + given_up.get(pool, 0) for pool in least}
    for hold in picked.taken_over:
        for pool, units in units_by_pool(hold).items():
            left[pool] = left.get(pool, 0) + units
    for pool, units in least.items():
        left[pool] -= units
    is_short = any(left[pool] < 0 < units for pool, units in least.items())
    fitted: list[Part] = []
    for part in parts:
        ask = part.ask
        if not isinstance(ask, Ask) or ask.at_least is None:
            fitted.append(part)
            continue
        pools = session.offers[ask.ticket_type_id].pool_ids
        most = min(ask.quantity, len(picked.seats.get(part.position, range(ask.quantity))))
        more = max(0, min([most - ask.at_least, *(left[pool] for pool in pools)]))
        count = int(ask.quantity) if is_short else ask.at_least + more
        for pool in pools:
            left[pool] -= more
        if count:
            fitted.append(part._replace(ask=replace(ask, quantity=Quantity(count), at_least=None)))
    return fitted


def _count_least(
    units: Counter[PoolId], session: SessionCatalog, part: Part, picked: Picked
) -> None:
    """Add the part's minimum demand on each pool."""
    ask = part.ask
    if isinstance(ask, Ask):
        count = int(ask.quantity) if ask.at_least is None else ask.at_least
        units.update(dict.fromkeys(session.offers[ask.ticket_type_id].pool_ids, count))
        return
    for seat_id in picked.seats.get(part.position, ()):
        units.update(session.offers[picked.type_of[seat_id]].pool_ids)


def _room(ledger: Ledger, session: SessionCatalog, pool_id: PoolId) -> int:
    """Units of a pool left for a newcomer, without those claimed by the waitlist."""
    if pool_id not in ledger.pools:
        return 0
    waitlist = open_waitlist(ledger, session)
    claimed = 0
    for queue in waitlist.sharing(frozenset({pool_id})) if waitlist else ():
        first = first_of(ledger, session, queue)
        if first is not None and not may_be_passed(session, queue, first):
            claimed += units_by_pool(first).get(pool_id, 0)
    return ledger.available(pool_id) - claimed
