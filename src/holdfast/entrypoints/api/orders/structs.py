"""The shapes of requests about checkouts, payments and orders."""

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.orders.order import (
    ATTENDEE_NAME_LENGTH_MAX,
    HOLDS_PER_CHECKOUT_MAX,
    PAYMENT_REFERENCE_LENGTH_MAX,
)
from holdfast.domain.values import EMAIL_LENGTH_MAX
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.fields import (
    Amount,
    CartToken,
    Currency,
    Email,
    EventRef,
    HoldRef,
    MetadataTexts,
    Reference,
    SessionRef,
    UserId,
    ruled,
)
from holdfast.entrypoints.api.http.shapes import CreatedQuery, RequestShape

ATTENDEES_MAX = 1000

PaymentReference: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=PAYMENT_REFERENCE_LENGTH_MAX,
        pattern=r"\S",
        description="By what your payment provider knows the payment.",
        examples=["pi_3MtwBwLkdIwHu7ix28a3tqPa"],
        extra={
            "message": f"Must be 1 to {PAYMENT_REFERENCE_LENGTH_MAX} characters, not all of them"
            " blank"
        },
    ),
]
AttendeeName: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=ATTENDEE_NAME_LENGTH_MAX,
        pattern=r"\S",
        examples=["Ada Lovelace"],
        extra={
            "message": f"Must be 1 to {ATTENDEE_NAME_LENGTH_MAX} characters, not all of them blank"
        },
    ),
]


AttendeeEmail: TypeAlias = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=EMAIL_LENGTH_MAX,
        description="Kept with the ticket. It appears in no answer.",
        examples=["ada@example.com"],
        extra_json_schema={"format": "email"},
        extra=ruled(ProblemCode.INVALID_EMAIL, "Invalid email format"),
    ),
]


class AttendeeRequest(RequestShape, frozen=True):
    """Who comes with a ticket: at least one of the two."""

    name: AttendeeName | None = None
    email: AttendeeEmail | None = None


Attendees: TypeAlias = Annotated[
    list[AttendeeRequest | None],
    Meta(
        max_length=ATTENDEES_MAX,
        description="Of the tickets, in the order of the holds and their lines; null for nobody.",
    ),
]


AmountPaid: TypeAlias = Annotated[
    Amount,
    Meta(
        description="The sum that was taken, in minor units. Where another one is due by now, the "
        "answer is 409 `amount_changed` and nothing is sold; without it the holds are sold as they "
        "stand."
    ),
]


OrderMetadata: TypeAlias = Annotated[
    MetadataTexts, Meta(description="Your own texts by key, kept with the order.")
]


class ConfirmHoldRequest(RequestShape, frozen=True):
    payment_reference: PaymentReference | None = None
    amount: AmountPaid | None = None
    attendees: Attendees | None = None
    metadata: OrderMetadata | None = None


class StartCheckoutRequest(RequestShape, frozen=True):
    """One of three: `hold_ids`; `cart_token` for all that is held under that name; `event_id` for
    all that a person holds of that event, then with `customer_email` or `user_id`. Beside the first
    two these say whose the holds have to be."""

    hold_ids: (
        Annotated[
            list[HoldRef],
            Meta(
                min_length=1, max_length=HOLDS_PER_CHECKOUT_MAX, description="The holds to pay for."
            ),
        ]
        | None
    ) = None
    event_id: EventRef | None = None
    cart_token: CartToken | None = None
    customer_email: Email | None = None
    user_id: UserId | None = None


class CompleteCheckoutRequest(RequestShape, frozen=True):
    payment_reference: PaymentReference
    amount: AmountPaid | None = None
    attendees: Attendees | None = None
    metadata: OrderMetadata | None = None


class OrdersQuery(CreatedQuery, frozen=True):
    """`hold_id` and `reference` find what a hold became, `payment_reference` what a payment paid
    for, `event_id` and `session_id` the orders with a ticket of it."""

    event_id: EventRef | UnsetType = UNSET
    session_id: SessionRef | UnsetType = UNSET
    customer_email: Email | UnsetType = UNSET
    user_id: UserId | UnsetType = UNSET
    hold_id: HoldRef | UnsetType = UNSET
    reference: Reference | UnsetType = UNSET
    payment_reference: PaymentReference | UnsetType = UNSET


class DemoPaymentRequest(RequestShape, frozen=True):
    """A card whose number ends in 0002 is declined."""

    amount: Amount
    currency: Currency
    card: (
        Annotated[
            str,
            Meta(
                pattern="^[0-9]{12,19}$",
                description="Any number: no card is charged.",
                examples=["4242424242424242"],
                extra={"message": "Must be 12 to 19 digits"},
            ),
        ]
        | None
    ) = None
