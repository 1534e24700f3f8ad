"""Requests about checkouts, payments and orders."""

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.group.origin import REASON_LENGTH_MAX
from holdfast.domain.ids import TicketId
from holdfast.domain.orders.order import (
    ATTENDEE_NAME_LENGTH_MAX,
    HOLDS_PER_CHECKOUT_MAX,
    PAYMENT_REFERENCE_LENGTH_MAX,
    REFUND_REFERENCE_LENGTH_MAX,
    OrderStatus,
)
from holdfast.entrypoints.api.http.fields import (
    AN_ID,
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
TICKETS_NAMED_MAX = 1000
TICKET_CODE_LENGTH_MAX = 100

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
CurrencyPaid: TypeAlias = Annotated[
    Currency, Meta(description="Currency of `amount`. It is checked like the amount.")
]


OrderMetadata: TypeAlias = Annotated[
    MetadataTexts, Meta(description="Your own texts by key, kept with the order.")
]


class ConfirmHoldRequest(RequestShape, frozen=True):
    payment_reference: PaymentReference | None = None
    amount: AmountPaid | None = None
    currency: CurrencyPaid | None = None
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
    currency: CurrencyPaid | None = None
    attendees: Attendees | None = None
    metadata: OrderMetadata | None = None


CancelReason: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=REASON_LENGTH_MAX,
        pattern=r"\S",
        description="Why, for the audit log and your own services. The buyer is not told.",
        examples=["The buyer fell ill"],
        extra={"message": f"Must be 1 to {REASON_LENGTH_MAX} characters and not blank"},
    ),
]
RefundReference: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=REFUND_REFERENCE_LENGTH_MAX,
        pattern=r"\S",
        examples=["re_3MtwBwLkdIwHu7ix1aJ8yVqF"],
        extra={"message": f"Must be 1 to {REFUND_REFERENCE_LENGTH_MAX} characters and not blank"},
    ),
]
OrderVersion: TypeAlias = Annotated[
    int,
    Meta(
        ge=1,
        le=2**31 - 1,
        description="`version` of the order as you read it. If it has changed since, nothing is "
        "cancelled (409 `order_changed`).",
    ),
]
TicketCode: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=TICKET_CODE_LENGTH_MAX,
        description="Code of one of its tickets.",
        examples=["0R3N7C2KQ5W8Y1D4F6H9J0M2P4"],
    ),
]


class CancelOrderRequest(RequestShape, frozen=True):
    """Without `ticket_ids`, all tickets that are still valid become void."""

    reason: CancelReason
    ticket_ids: (
        Annotated[
            list[Annotated[TicketId, AN_ID]],
            Meta(
                min_length=1,
                max_length=TICKETS_NAMED_MAX,
                description="The tickets to cancel; omit it to cancel the whole order.",
            ),
        ]
        | None
    ) = None
    refund_reference: RefundReference | None = None
    version: OrderVersion | None = None


class RecordRefundRequest(RequestShape, frozen=True):
    """Without `ticket_ids`, all void tickets without a reference get this one."""

    refund_reference: RefundReference
    ticket_ids: (
        Annotated[
            list[Annotated[TicketId, AN_ID]],
            Meta(
                min_length=1,
                max_length=TICKETS_NAMED_MAX,
                description="The refunded tickets; omit it for all void ones without a reference.",
            ),
        ]
        | None
    ) = None


class OrdersQuery(CreatedQuery, frozen=True):
    """`hold_id` and `reference` find the order of a hold, `payment_reference` that of a payment,
    `ticket_code` that of a ticket, `event_id` and `session_id` the orders with a ticket for it."""

    status: OrderStatus | UnsetType = UNSET
    event_id: EventRef | UnsetType = UNSET
    session_id: SessionRef | UnsetType = UNSET
    customer_email: Email | UnsetType = UNSET
    user_id: UserId | UnsetType = UNSET
    hold_id: HoldRef | UnsetType = UNSET
    reference: Reference | UnsetType = UNSET
    payment_reference: PaymentReference | UnsetType = UNSET
    ticket_code: TicketCode | UnsetType = UNSET


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
