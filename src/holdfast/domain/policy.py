"""How long a hold lasts and how much it may hold. The nearest policy wins, field by field."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

from holdfast.domain.values import QUANTITY_MAX, InvalidValue

TTL_SECONDS_DEFAULT = 600
TTL_SECONDS_MAX = 7 * 24 * 3600

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PolicyOverride:
    """What one level (organization, event, ticket type) says; None leaves it to the level above."""

    ttl_seconds: int | None = None
    quantity_max: int | None = None
    one_active_hold: bool | None = None
    refuse_orphans: bool | None = None

    def __post_init__(self) -> None:
        _check("ttl_seconds", self.ttl_seconds, TTL_SECONDS_MAX)
        _check("quantity_max", self.quantity_max, QUANTITY_MAX)


class Unchanged(Enum):
    """Says that a field is to stay as it is; None would clear it."""

    UNCHANGED = auto()


UNCHANGED = Unchanged.UNCHANGED


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """What is to become of an override. None leaves the field to the level above again."""

    ttl_seconds: int | Unchanged | None = UNCHANGED
    quantity_max: int | Unchanged | None = UNCHANGED
    one_active_hold: bool | Unchanged | None = UNCHANGED
    refuse_orphans: bool | Unchanged | None = UNCHANGED

    def applied_to(self, override: PolicyOverride) -> PolicyOverride:
        return PolicyOverride(
            _changed(self.ttl_seconds, override.ttl_seconds),
            _changed(self.quantity_max, override.quantity_max),
            _changed(self.one_active_hold, override.one_active_hold),
            _changed(self.refuse_orphans, override.refuse_orphans),
        )


@dataclass(frozen=True, slots=True)
class HoldPolicy:
    """The rules in force for one ticket type."""

    ttl_seconds: int = TTL_SECONDS_DEFAULT
    quantity_max: int = QUANTITY_MAX
    one_active_hold: bool = False  # a holder has at most one live hold of a session
    refuse_orphans: bool = False  # hand-picked seats may not leave a single seat alone

    def overridden_by(self, override: PolicyOverride) -> "HoldPolicy":
        return HoldPolicy(
            _nearer(override.ttl_seconds, self.ttl_seconds),
            _nearer(override.quantity_max, self.quantity_max),
            _nearer(override.one_active_hold, self.one_active_hold),
            _nearer(override.refuse_orphans, self.refuse_orphans),
        )


def nearest_policy(*overrides: PolicyOverride) -> HoldPolicy:
    """Levels from the widest to the nearest: organization, event, ticket type."""
    policy = HoldPolicy()
    for override in overrides:
        policy = policy.overridden_by(override)
    return policy


def _nearer(override: T | None, wider: T) -> T:
    return wider if override is None else override


def _changed(change: T | Unchanged | None, current: T | None) -> T | None:
    return current if isinstance(change, Unchanged) else change


def _check(field: str, value: int | None, maximum: int) -> None:
    if value is not None and not 1 <= value <= maximum:
        raise InvalidValue("invalid_policy", f"{field} must be a whole number from 1 to {maximum}")
