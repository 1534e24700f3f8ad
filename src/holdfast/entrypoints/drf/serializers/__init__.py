"""Serializers of requests and answers."""

from holdfast.entrypoints.drf.serializers.answers import (
    AvailabilitySerializer,
    CartHoldSerializer,
    CheckoutSerializer,
    ConfirmedHoldSerializer,
    EmptyCartSerializer,
    HoldPageSerializer,
    HoldSerializer,
    OrderPageSerializer,
    OrderSerializer,
    ProblemSerializer,
)
from holdfast.entrypoints.drf.serializers.requests import (
    CompleteCheckoutSerializer,
    ConfirmHoldSerializer,
    ExtendHoldSerializer,
    FillCartSerializer,
    NoFieldsSerializer,
    PlaceHoldSerializer,
    RenewCartSerializer,
    StartCheckoutSerializer,
)
from holdfast.entrypoints.drf.serializers.struct import StructSerializer, serializer_of

__all__ = [
    "AvailabilitySerializer",
    "CartHoldSerializer",
    "CheckoutSerializer",
    "CompleteCheckoutSerializer",
    "ConfirmHoldSerializer",
    "ConfirmedHoldSerializer",
    "EmptyCartSerializer",
    "ExtendHoldSerializer",
    "FillCartSerializer",
    "HoldPageSerializer",
    "HoldSerializer",
    "NoFieldsSerializer",
    "OrderPageSerializer",
    "OrderSerializer",
    "PlaceHoldSerializer",
    "ProblemSerializer",
    "RenewCartSerializer",
    "StartCheckoutSerializer",
    "StructSerializer",
    "serializer_of",
]
