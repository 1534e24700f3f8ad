"""Serializers of answers."""

from typing import Any

from rest_framework import serializers

from holdfast.entrypoints.api.carts.answers import CartHoldAnswer, EmptyCartAnswer
from holdfast.entrypoints.api.catalog.answers import AvailabilityAnswer
from holdfast.entrypoints.api.holds.answers import HoldAnswer, HoldPage
from holdfast.entrypoints.api.http.problems import FieldError
from holdfast.entrypoints.api.orders.answers import (
    CheckoutAnswer,
    ConfirmedHoldAnswer,
    OrderAnswer,
    OrderPage,
)
from holdfast.entrypoints.drf.serializers.struct import StructSerializer, serializer_of


class HoldSerializer(StructSerializer):
    struct = HoldAnswer


class HoldPageSerializer(StructSerializer):
    struct = HoldPage


class ConfirmedHoldSerializer(StructSerializer):
    struct = ConfirmedHoldAnswer


class CartHoldSerializer(StructSerializer):
    struct = CartHoldAnswer


class EmptyCartSerializer(StructSerializer):
    struct = EmptyCartAnswer


class CheckoutSerializer(StructSerializer):
    struct = CheckoutAnswer


class OrderSerializer(StructSerializer):
    struct = OrderAnswer


class OrderPageSerializer(StructSerializer):
    struct = OrderPage


class AvailabilitySerializer(StructSerializer):
    struct = AvailabilityAnswer


class ProblemSerializer(serializers.Serializer[Any]):
    """RFC 9457, with the fields of the hold API. Some refusals have more, such as
    `available_quantity`."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    error = serializers.CharField()
    message = serializers.CharField()
    request_id = serializers.CharField()
    available_quantity = serializers.IntegerField(required=False)

    def get_fields(self) -> dict[str, Any]:
        """`errors` would hide the property of that name."""
        errors = serializer_of(FieldError)(many=True, required=False)
        return {**super().get_fields(), "errors": errors}
