"""How long a hold lasts and how much it may hold. The nearest policy wins, field by field."""

from dataclasses import dataclass, fields, replace
from enum import Enum, auto

from holdfast.domain.values import QUANTITY_MAX, InvalidValue

TTL_SECONDS_DEFAULT = 600
TTL_SECONDS_MAX = 7 * 24 * 3600
LIFETIME_SECONDS_DEFAULT = 1200
CHECKOUT_EXTENSION_SECONDS_DEFAULT = 300
WARNING_SECONDS_DEFAULT = 60
WARNING_SECONDS_MAX = 3600
DAY_SECONDS = 24 * 3600
WAITING_SECONDS_MAX = 90 * DAY_SECONDS
WAITING_PLACES_DEFAULT = 4
WAITING_PLACES_MAX = 50
WAITING_PASSES_MAX = 1000

# The whole numbers of a policy: the least and the most.
POLICY_BOUNDS = {
    "ttl_seconds": (1, TTL_SECONDS_MAX),
    "quantity_max": (1, QUANTITY_MAX),
    "checkout_extension_seconds": (0, DAY_SECONDS),
    "lifetime_max_seconds": (1, TTL_SECONDS_MAX),
    "warning_seconds": (0, WARNING_SECONDS_MAX),
    "late_payment_seconds": (0, DAY_SECONDS),
    "waiting_seconds": (1, WAITING_SECONDS_MAX),
    "waiting_places_max": (1, WAITING_PLACES_MAX),
    "waiting_passes_max": (0, WAITING_PASSES_MAX),
}


@dataclass(frozen=True, slots=True)
class PolicyOverride:
    """What one level (organization, event, ticket type) says; None leaves it to the level above."""

    ttl_seconds: int | None = None
    quantity_max: int | None = None
    one_active_hold: bool | None = None
    refuse_orphans: bool | None = None
    checkout_extension_seconds: int | None = None
    lifetime_max_seconds: int | None = None
    warning_seconds: int | None = None
    late_payment_seconds: int | None = None
    waitlist: bool | None = None
    waiting_seconds: int | None = None
    waiting_places_max: int | None = None
    waiting_passes_max: int | None = None

    def __post_init__(self) -> None:
        for field, (least, most) in POLICY_BOUNDS.items():
            value = getattr(self, field)
            if value is not None and not least <= value <= most:
                raise InvalidValue(
                    "invalid_policy", f"{field} must be a whole number from {least} to {most}"
                )


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
    checkout_extension_seconds: int | Unchanged | None = UNCHANGED
    lifetime_max_seconds: int | Unchanged | None = UNCHANGED
    warning_seconds: int | Unchanged | None = UNCHANGED
    late_payment_seconds: int | Unchanged | None = UNCHANGED
    waitlist: bool | Unchanged | None = UNCHANGED
    waiting_seconds: int | Unchanged | None = UNCHANGED
    waiting_places_max: int | Unchanged | None = UNCHANGED
    waiting_passes_max: int | Unchanged | None = UNCHANGED

    def applied_to(self, override: PolicyOverride) -> PolicyOverride:
        said = {name: getattr(self, name) for name in POLICY_FIELDS}
        return replace(
            override, **{name: value for name, value in said.items() if value is not UNCHANGED}
        )


@dataclass(frozen=True, slots=True)
class HoldPolicy:
    """The rules in force for one ticket type."""

    ttl_seconds: int = TTL_SECONDS_DEFAULT
    quantity_max: int = QUANTITY_MAX
    one_active_hold: bool = False  # a holder has at most one live hold of a session
    refuse_orphans: bool = False  # hand-picked seats may not leave a single seat alone
    # Checkout makes a hold last this much longer, once.
    checkout_extension_seconds: int = CHECKOUT_EXTENSION_SECONDS_DEFAULT
    lifetime_max_seconds: int = LIFETIME_SECONDS_DEFAULT  # extensions end here; operators may go on
    warning_seconds: int = WARNING_SECONDS_DEFAULT  # told so long before the end; 0: not at all
    # A payment that comes so late still gets its places, if they are still free. 0: never.
    late_payment_seconds: int = 0
    waitlist: bool = False  # who finds nothing left may wait in line, instead of being refused
    waiting_seconds: int = DAY_SECONDS  # how long a place in the line lasts
    waiting_places_max: int = WAITING_PLACES_DEFAULT  # of one holder, in a session
    # The first in line may need more than is free: so often smaller parties may pass it. 0: never.
    waiting_passes_max: int = 0

    def overridden_by(self, override: PolicyOverride) -> "HoldPolicy":
        said = {name: getattr(override, name) for name in POLICY_FIELDS}
        return replace(self, **{name: value for name, value in said.items() if value is not None})


POLICY_FIELDS = tuple(field.name for field in fields(HoldPolicy))


def nearest_policy(*overrides: PolicyOverride) -> HoldPolicy:
    """Levels from the widest to the nearest: organization, event, ticket type."""
    policy = HoldPolicy()
    for override in overrides:
        policy = policy.overridden_by(override)
    if policy.ttl_seconds > policy.lifetime_max_seconds:
        # The time to live comes from one level and the lifetime from another: the lifetime follows,
        # or no hold could ever be extended.
        lifetime = policy.ttl_seconds + policy.checkout_extension_seconds
        return replace(policy, lifetime_max_seconds=lifetime)
    return policy
