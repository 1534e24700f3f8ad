"""What a decision changes: transitions of holds. All else follows from them by pure functions:
the counters of the pools, the units per second of lapse, the facts and the audit rows."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from holdfast.domain.commands import Origin
from holdfast.domain.hold import Hold, HoldStatus
from holdfast.domain.ids import PoolId


class FactType(StrEnum):
    HOLD_CREATED = "hold.created"
    HOLD_EXPIRED = "hold.expired"
    HOLD_CANCELLED = "hold.cancelled"
    HOLD_CONVERTED = "hold.converted"


_FACT_OF_STATUS = {
    HoldStatus.ACTIVE: FactType.HOLD_CREATED,
    HoldStatus.EXPIRED: FactType.HOLD_EXPIRED,
    HoldStatus.CANCELLED: FactType.HOLD_CANCELLED,
    HoldStatus.CONVERTED: FactType.HOLD_CONVERTED,
}

JsonValue = str | int | None | list["JsonValue"] | dict[str, "JsonValue"]


@dataclass(frozen=True, slots=True)
class Transition:
    """One hold, before and after, and who caused it. `before` is None for a new hold."""

    before: Hold | None
    after: Hold
    origin: Origin

    @property
    def fact_type(self) -> FactType:
        return _FACT_OF_STATUS[self.after.status]


@dataclass(frozen=True, slots=True)
class PoolMove:
    held: int
    sold: int


def pool_moves(transitions: Iterable[Transition]) -> dict[PoolId, PoolMove]:
    """By how much each pool's counters change."""
    held: Counter[PoolId] = Counter()
    sold: Counter[PoolId] = Counter()
    for transition in transitions:
        for hold, sign in ((transition.before, -1), (transition.after, 1)):
            if hold is None:
                continue
            counter = _counter_of(hold, held, sold)
            if counter is not None:
                _count(hold, sign, counter)
    return {
        pool_id: PoolMove(held[pool_id], sold[pool_id])
        for pool_id in held.keys() | sold.keys()
        if held[pool_id] or sold[pool_id]
    }


def lapse_moves(transitions: Iterable[Transition]) -> dict[tuple[PoolId, datetime], int]:
    """By how much the units that lapse at each second of each pool change."""
    moves: Counter[tuple[PoolId, datetime]] = Counter()
    for transition in transitions:
        for hold, sign in ((transition.before, -1), (transition.after, 1)):
            if hold is None or not hold.occupies_places():
                continue
            for line in hold.lines:
                for pool_id in line.pool_ids:
                    moves[pool_id, hold.expires_at] += sign * line.quantity
    return {key: units for key, units in moves.items() if units}


def units_by_pool(hold: Hold) -> Counter[PoolId]:
    units: Counter[PoolId] = Counter()
    _count(hold, 1, units)
    return units


def fact_payload(transition: Transition) -> dict[str, JsonValue]:
    """The payload of the message. The e-mail address is in hold.created only."""
    hold = transition.after
    single = hold.lines[0] if len(hold.lines) == 1 else None
    payload: dict[str, JsonValue] = {
        "hold_id": str(hold.id),
        "session_id": str(hold.session_id),
        "ticket_type_id": str(single.ticket_type_id) if single else None,
        "quantity": hold.quantity,
    }
    if transition.fact_type is FactType.HOLD_CREATED:
        payload["customer_email"] = hold.holder.email.value if hold.holder.email else None
        payload["expires_at"] = iso(hold.expires_at)
    if single is None:
        payload["lines"] = [
            {"ticket_type_id": str(line.ticket_type_id), "quantity": line.quantity}
            for line in hold.lines
        ]
    return payload


def audit_values(hold: Hold | None) -> dict[str, JsonValue] | None:
    """What an audit row keeps of a hold: what can change, never who the holder is."""
    if hold is None:
        return None
    return {
        "status": hold.status.value,
        "version": hold.version,
        "quantity": hold.quantity,
        "expires_at": iso(hold.expires_at),
    }


def iso(moment: datetime) -> str:
    """UTC, ISO 8601, with a Z."""
    return moment.isoformat().replace("+00:00", "Z")


def _counter_of(hold: Hold, held: Counter[PoolId], sold: Counter[PoolId]) -> Counter[PoolId] | None:
    if hold.occupies_places():
        return held
    return sold if hold.is_converted() else None


def _count(hold: Hold, sign: int, counter: Counter[PoolId]) -> None:
    for line in hold.lines:
        for pool_id in line.pool_ids:
            counter[pool_id] += sign * line.quantity
