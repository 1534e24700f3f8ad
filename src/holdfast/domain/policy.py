"""How long a hold lasts and how much it may hold. The nearest policy wins, field by field."""

from dataclasses import dataclass, replace
from enum import Enum, auto

from holdfast.domain.values import QUANTITY_MAX, InvalidValue

TTL_SECONDS_DEFAULT = 600
TTL_SECONDS_MAX = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class PolicyOverride:
    """What one level (organization, event, ticket type) says; None leaves it to the level above."""

    ttl_seconds: int | None = None
    quantity_max: int | None = None

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

    def applied_to(self, override: PolicyOverride) -> PolicyOverride:
        ttl_seconds, quantity_max = self.ttl_seconds, self.quantity_max
        return PolicyOverride(
            override.ttl_seconds if isinstance(ttl_seconds, Unchanged) else ttl_seconds,
            override.quantity_max if isinstance(quantity_max, Unchanged) else quantity_max,
        )


@dataclass(frozen=True, slots=True)
class HoldPolicy:
    """The rules in force for one ticket type."""

    ttl_seconds: int = TTL_SECONDS_DEFAULT
    quantity_max: int = QUANTITY_MAX

    def overridden_by(self, override: PolicyOverride) -> "HoldPolicy":
        return replace(
            self,
            ttl_seconds=override.ttl_seconds or self.ttl_seconds,
            quantity_max=override.quantity_max or self.quantity_max,
        )


def nearest_policy(*overrides: PolicyOverride) -> HoldPolicy:
    """Levels from the widest to the nearest: organization, event, ticket type."""
    policy = HoldPolicy()
    for override in overrides:
        policy = policy.overridden_by(override)
    return policy


def _check(field: str, value: int | None, maximum: int) -> None:
    if value is not None and not 1 <= value <= maximum:
        raise InvalidValue("invalid_policy", f"{field} must be a whole number from 1 to {maximum}")
