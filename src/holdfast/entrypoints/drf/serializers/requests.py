"""Serializers of requests."""

from holdfast.entrypoints.api.carts import structs as carts
from holdfast.entrypoints.api.holds import structs as holds
from holdfast.entrypoints.api.http.shapes import NoFields
from holdfast.entrypoints.api.orders import structs as orders
from holdfast.entrypoints.drf.serializers.struct import StructSerializer


class PlaceHoldSerializer(StructSerializer):
    struct = holds.PlaceHoldRequest


class ExtendHoldSerializer(StructSerializer):
    struct = holds.ExtendHoldRequest


class NoFieldsSerializer(StructSerializer):
    struct = NoFields


class FillCartSerializer(StructSerializer):
    struct = carts.FillCartRequest


class RenewCartSerializer(StructSerializer):
    struct = carts.RenewCartRequest


class StartCheckoutSerializer(StructSerializer):
    struct = orders.StartCheckoutRequest


class CompleteCheckoutSerializer(StructSerializer):
    struct = orders.CompleteCheckoutRequest


class ConfirmHoldSerializer(StructSerializer):
    struct = orders.ConfirmHoldRequest
