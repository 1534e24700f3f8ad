"""The policy of holds: how long they last and how much they may contain. For each field, the most
specific level that sets it wins.

`HoldPolicy` is the only list of the fields. The overrides, the columns of the tables, the API and
the admin pages follow from it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from enum import Enum, auto
from typing import Any

from holdfast.domain.immutable import immutable
from holdfast.domain.values import QUANTITY_MAX, InvalidValue

TTL_SECONDS_MAX = 7 * 24 * 3600
CHECKOUT_EXTENSION_SECONDS_DEFAULT = 300
WARNING_SECONDS_MAX = 3600
DAY_SECONDS = 24 * 3600
WAITING_SECONDS_MAX = 90 * DAY_SECONDS
WAITING_PLACES_MAX = 50
WAITING_PASSES_MAX = 1000
HOLDER_UNITS_MAX = 500
HOLDER_HOLDS_MAX = 100
EXTENSIONS_MAX = 100


class Unchanged(Enum):
    """Marks a field that stays unchanged; None would clear it."""

    UNCHANGED = auto()


UNCHANGED = Unchanged.UNCHANGED


@immutable
class Bounds:
    """The range of a whole number."""

    least: int
    most: int
    example: int


@immutable
class PolicyField:
    """`label` is for the admin pages, `meaning` for the API. A field without bounds is a bool."""

    label: str
    meaning: str
    bounds: Bounds | None = None

    def rule(self, name: str) -> str:
        assert self.bounds is not None
        return f"{name} must be a whole number from {self.bounds.least} to {self.bounds.most}"

    def check(self, name: str, value: int) -> None:
        bounds = self.bounds
        if bounds is not None and not bounds.least <= value <= bounds.most:
            raise InvalidValue("invalid_policy", self.rule(name))


def _number(default: int, bounds: Bounds, label: str, meaning: str) -> int:
    return field(default=default, metadata={"policy": PolicyField(label, meaning, bounds)})


def _switch(label: str, meaning: str) -> bool:
    """Off by default."""
    return field(default=False, metadata={"policy": PolicyField(label, meaning)})


@immutable
class HoldPolicy:
    """The rules in force for one ticket type."""

    ttl_seconds: int = _number(
        600, Bounds(1, TTL_SECONDS_MAX, 600), "hold time (s)", "Lifetime of a new hold."
    )
    quantity_max: int = _number(
        QUANTITY_MAX,
        Bounds(1, QUANTITY_MAX, 8),
        "maximum per hold",
        "Maximum quantity of one ticket type in one hold.",
    )
    one_active_hold: bool = _switch(
        "one active hold per buyer", "A holder can have only one live hold in a session."
    )
    refuse_orphans: bool = _switch(
        "refuse to leave single seats", "Refuse seats that leave a single free seat."
    )
    checkout_extension_seconds: int = _number(
        CHECKOUT_EXTENSION_SECONDS_DEFAULT,
        Bounds(0, DAY_SECONDS, 300),
        "checkout extension (s)",
        "Time that starting a checkout adds to a hold, once.",
    )
    # Operators may exceed it.
    lifetime_max_seconds: int = _number(
        1200,
        Bounds(1, TTL_SECONDS_MAX, 1200),
        "maximum lifetime (s)",
        "Maximum lifetime of a hold, including extensions.",
    )
    warning_seconds: int = _number(
        60,
        Bounds(0, WARNING_SECONDS_MAX, 60),
        "warning before expiry (s)",
        "Time before expiry at which `hold.expiring` is published; 0 turns it off. With less than "
        "two minutes left, buyers get no e-mail about it: for e-mails, set it to 300.",
    )
    late_payment_seconds: int = _number(
        0,
        Bounds(0, DAY_SECONDS, 120),
        "late payment window (s)",
        "Time after expiry in which a payment still gets its places, if they are free; 0: never.",
    )
    waitlist: bool = _switch("waitlist", "Buyers who find nothing left can join the waitlist.")
    waiting_seconds: int = _number(
        DAY_SECONDS,
        Bounds(1, WAITING_SECONDS_MAX, 86_400),
        "waitlist time (s)",
        "How long a party stays on the waitlist.",
    )
    waiting_places_max: int = _number(
        4,
        Bounds(1, WAITING_PLACES_MAX, 4),
        "maximum waitlist places per buyer",
        "Maximum places of one holder on the waitlist of a session.",
    )
    waiting_passes_max: int = _number(
        0,
        Bounds(0, WAITING_PASSES_MAX, 3),
        "maximum overtakes",
        "How often smaller parties can overtake the first party, which needs more than is free; "
        "0: never.",
    )
    holder_units_max: int = _number(
        0,
        Bounds(0, HOLDER_UNITS_MAX, 8),
        "maximum per buyer",
        "Maximum tickets of one holder in the event: held, waited for and bought; 0: no limit.",
    )
    holder_holds_max: int = _number(
        0,
        Bounds(0, HOLDER_HOLDS_MAX, 3),
        "maximum holds per buyer",
        "Maximum live holds of one holder in the event; 0: no limit.",
    )
    holder_carts_max: int = _number(
        0,
        Bounds(0, HOLDER_HOLDS_MAX, 2),
        "maximum carts per buyer",
        "Maximum carts with a live hold of one holder in the event; 0: no limit.",
    )
    extensions_max: int = _number(
        0,
        Bounds(0, EXTENSIONS_MAX, 2),
        "maximum extensions",
        "How often the holder can extend a hold; 0: no limit. Starting a checkout does not count.",
    )
    cooldown_seconds: int = _number(
        0,
        Bounds(0, DAY_SECONDS, 60),
        "cooldown (s)",
        "Time for which a holder cannot take more places in the event after a hold was released "
        "or expired without a sale; 0: none.",
    )

    @property
    def limits_holders(self) -> bool:
        """Whether it limits what a holder may have in the event."""
        return bool(
            self.holder_units_max
            or self.holder_holds_max
            or self.holder_carts_max
            or self.cooldown_seconds
        )

    def overridden_by(self, override: "PolicyOverride") -> "HoldPolicy":
        return replace(self, **override.values)


POLICY_FIELDS: Mapping[str, PolicyField] = {
    each.name: each.metadata["policy"] for each in fields(HoldPolicy)
}

# The changed fields by name. None inherits a field from the level above again.
PolicyChange = dict[str, int | None]


@immutable(init=False)
class PolicyOverride:
    """The fields set by one level (organization, event, ticket type); missing fields and None are
    inherited from the level above."""

    values: Mapping[str, Any]

    def __init__(self, *in_order: int | None, **by_name: int | None) -> None:
        given = dict(zip(POLICY_FIELDS, in_order, strict=False)) | by_name
        values = {name: value for name, value in given.items() if value is not None}
        for name, value in values.items():
            POLICY_FIELDS[name].check(name, value)
        object.__setattr__(self, "values", values)

    def changed(self, change: PolicyChange) -> "PolicyOverride":
        return PolicyOverride(**{**self.values, **change})

    def by_name(self) -> dict[str, Any]:
        """Every field; None if inherited."""
        return {name: self.values.get(name) for name in POLICY_FIELDS}

    def in_order(self) -> tuple[Any, ...]:
        return tuple(self.by_name().values())


def lowest_limit(limits: Iterable[int]) -> int:
    """The lowest of these limits, where 0 means none."""
    return min((limit for limit in limits if limit), default=0)


def nearest_policy(*overrides: PolicyOverride) -> HoldPolicy:
    """The policy in force. Levels are ordered organization, event, ticket type."""
    policy = HoldPolicy()
    for override in overrides:
        policy = policy.overridden_by(override)
    if policy.ttl_seconds > policy.lifetime_max_seconds:
        # Time to live and maximum lifetime may come from different levels: raise the latter, or no
        # hold could be extended.
        lifetime = policy.ttl_seconds + policy.checkout_extension_seconds
        return replace(policy, lifetime_max_seconds=lifetime)
    return policy
