"""Requests about checkouts, payments and orders."""

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.orders.order import (
    ATTENDEE_NAME_LENGTH_MAX,
    HOLDS_PER_CHECKOUT_MAX,
    PAYMENT_REFERENCE_LENGTH_MAX,
)
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
)
from holdfast.entrypoints.api.http.shapes import CreatedQuery, RequestShape

ATTENDEES_MAX = 1000

PaymentReference: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=PAYMENT_REFERENCE_LENGTH_MAX,
        pattern=r"\S",
        examples=["pi_3MtwBwLkdIwHu7ix28a3tqPa"],
        extra={"message": f"Must be 1 to {PAYMENT_REFERENCE_LENGTH_MAX} characters and not blank"},
    ),
]
AttendeeName: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=ATTENDEE_NAME_LENGTH_MAX,
        pattern=r"\S",
        examples=["Ada Lovelace"],
        extra={"message": f"Must be 1 to {ATTENDEE_NAME_LENGTH_MAX} characters and not blank"},
    ),
]

AttendeeEmail: TypeAlias = Annotated[
    Email,
    Meta(description="Stored with the ticket; never returned.", examples=["ada@example.com"]),
]


class AttendeeRequest(RequestShape, frozen=True):
    """The attendee of a ticket: at least one of the two fields."""

    name: AttendeeName | None = None
    email: AttendeeEmail | None = None


Attendees: TypeAlias = Annotated[
    list[AttendeeRequest | None],
    Meta(
        max_length=ATTENDEES_MAX,
        description="Attendees of the tickets, in the order of holds and lines; null for none.",
    ),
]


AmountPaid: TypeAlias = Annotated[
    Amount,
    Meta(
        description="Amount paid, in minor units. If another amount is due, nothing is sold "
        "(409 `amount_changed`); if omitted, it is not checked."
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
    """One of `hold_ids`, `cart_token` (all holds with that token) and `event_id` (all holds of a
    person for that event, with `customer_email` or `user_id`). With the first two, a given holder
    must match."""

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
    """`hold_id` and `reference` find the order of a hold, `payment_reference` that of a payment,
    `event_id` and `session_id` the orders with a ticket for it."""

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
