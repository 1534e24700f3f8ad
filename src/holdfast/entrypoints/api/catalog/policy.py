"""The hold policy of an event or a ticket type, in requests and answers."""

from dataclasses import asdict
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.policy import POLICY_BOUNDS, TTL_SECONDS_DEFAULT, PolicyOverride
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.fields import ruled
from holdfast.entrypoints.api.http.shapes import AnswerShape, RequestShape


def policy_number(field: str, description: str, example: int) -> Meta:
    """The rule of a whole number of a hold policy."""
    least, most = POLICY_BOUNDS[field]
    return Meta(
        ge=least,
        le=most,
        description=description,
        examples=[example],
        extra=ruled(
            ProblemCode.INVALID_POLICY, f"{field} must be a whole number from {least} to {most}"
        ),
    )


TtlSeconds: TypeAlias = Annotated[
    int, policy_number("ttl_seconds", "How long a hold lasts.", TTL_SECONDS_DEFAULT)
]
QuantityMax: TypeAlias = Annotated[
    int, policy_number("quantity_max", "The most of one ticket type in one hold.", 8)
]
OneActiveHold: TypeAlias = Annotated[
    bool, Meta(description="A holder has at most one live hold of a session.")
]
RefuseOrphans: TypeAlias = Annotated[
    bool, Meta(description="Hand-picked seats may not leave a single seat alone.")
]
CheckoutExtensionSeconds: TypeAlias = Annotated[
    int,
    policy_number(
        "checkout_extension_seconds", "How much longer going to pay makes a hold last, once.", 300
    ),
]
LifetimeMaxSeconds: TypeAlias = Annotated[
    int,
    policy_number(
        "lifetime_max_seconds", "From its creation on, no extension goes beyond this.", 1200
    ),
]
WarningSeconds: TypeAlias = Annotated[
    int,
    policy_number(
        "warning_seconds", "How long before its end a hold is announced to end; 0: not at all.", 60
    ),
]
LatePaymentSeconds: TypeAlias = Annotated[
    int,
    policy_number(
        "late_payment_seconds",
        "A payment that comes so late still gets its places, if they are free; 0: never.",
        120,
    ),
]


Waitlist: TypeAlias = Annotated[
    bool,
    Meta(description="Buyers who find nothing left join the waitlist, instead of being refused."),
]
WaitingSeconds: TypeAlias = Annotated[
    int, policy_number("waiting_seconds", "How long a waiting hold waits.", 86_400)
]
WaitingPlacesMax: TypeAlias = Annotated[
    int,
    policy_number("waiting_places_max", "The most waiting holds of one holder, in a session.", 4),
]
WaitingPassesMax: TypeAlias = Annotated[
    int,
    policy_number(
        "waiting_passes_max",
        "How many smaller parties may overtake the first party, which needs more than is free; 0: "
        "none.",
        3,
    ),
]


class PolicyRequest(RequestShape, frozen=True):
    """What is left out is decided by the level above: event, then organization."""

    ttl_seconds: TtlSeconds | None = None
    quantity_max: QuantityMax | None = None
    one_active_hold: OneActiveHold | None = None
    refuse_orphans: RefuseOrphans | None = None
    checkout_extension_seconds: CheckoutExtensionSeconds | None = None
    lifetime_max_seconds: LifetimeMaxSeconds | None = None
    warning_seconds: WarningSeconds | None = None
    late_payment_seconds: LatePaymentSeconds | None = None
    waitlist: Waitlist | None = None
    waiting_seconds: WaitingSeconds | None = None
    waiting_places_max: WaitingPlacesMax | None = None
    waiting_passes_max: WaitingPassesMax | None = None


class PolicyChangeRequest(RequestShape, frozen=True):
    """A field left out stays as it is; null leaves it to the level above again."""

    ttl_seconds: TtlSeconds | UnsetType | None = UNSET
    quantity_max: QuantityMax | UnsetType | None = UNSET
    one_active_hold: OneActiveHold | UnsetType | None = UNSET
    refuse_orphans: RefuseOrphans | UnsetType | None = UNSET
    checkout_extension_seconds: CheckoutExtensionSeconds | UnsetType | None = UNSET
    lifetime_max_seconds: LifetimeMaxSeconds | UnsetType | None = UNSET
    warning_seconds: WarningSeconds | UnsetType | None = UNSET
    late_payment_seconds: LatePaymentSeconds | UnsetType | None = UNSET
    waitlist: Waitlist | UnsetType | None = UNSET
    waiting_seconds: WaitingSeconds | UnsetType | None = UNSET
    waiting_places_max: WaitingPlacesMax | UnsetType | None = UNSET
    waiting_passes_max: WaitingPassesMax | UnsetType | None = UNSET


class PolicyAnswer(AnswerShape, frozen=True):
    """The rules that this level sets; the level above decides the others."""

    ttl_seconds: TtlSeconds | UnsetType = UNSET
    quantity_max: QuantityMax | UnsetType = UNSET
    one_active_hold: OneActiveHold | UnsetType = UNSET
    refuse_orphans: RefuseOrphans | UnsetType = UNSET
    checkout_extension_seconds: CheckoutExtensionSeconds | UnsetType = UNSET
    lifetime_max_seconds: LifetimeMaxSeconds | UnsetType = UNSET
    warning_seconds: WarningSeconds | UnsetType = UNSET
    late_payment_seconds: LatePaymentSeconds | UnsetType = UNSET
    waitlist: Waitlist | UnsetType = UNSET
    waiting_seconds: WaitingSeconds | UnsetType = UNSET
    waiting_places_max: WaitingPlacesMax | UnsetType = UNSET
    waiting_passes_max: WaitingPassesMax | UnsetType = UNSET


def policy_answer(policy: PolicyOverride) -> PolicyAnswer:
    return PolicyAnswer(
        **{name: value for name, value in asdict(policy).items() if value is not None}
    )
