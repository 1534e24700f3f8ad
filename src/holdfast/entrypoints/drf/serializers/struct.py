"""Serializers with the fields and rules of the API's own requests and answers, so that nothing is
written down twice."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

import msgspec
from msgspec import Struct, inspect
from rest_framework import fields, serializers

from holdfast.entrypoints.api.http.diagnosis import explain
from holdfast.entrypoints.api.http.problems import Problem, invalid
from holdfast.entrypoints.drf.problems import Refused

AnyField: TypeAlias = "fields.Field[Any, Any, Any, Any]"

_SUFFIX = "Serializer"


class StructSerializer(serializers.Serializer[Any]):
    """`validated_data` has the values as they are sent on: plain JSON, without what is null."""

    struct: ClassVar[type[Struct]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _of_struct[cls.struct] = cls
        cls.__doc__ = cls.__doc__ or cls.struct.__doc__

    def get_fields(self) -> dict[str, AnyField]:
        info = inspect.type_info(self.struct)
        assert isinstance(info, inspect.StructType)
        return {each.encode_name: _field(each) for each in info.fields}

    def run_validation(self, data: Any = fields.empty) -> Any:
        given = {} if data is fields.empty else data
        try:
            return msgspec.to_builtins(msgspec.convert(given, self.struct))
        except ValueError:
            self._problem = invalid(explain(self.struct, given, "body"))
            raise serializers.ValidationError(_detail(self._problem)) from None

    def is_valid(self, *, raise_exception: bool = False) -> bool:
        """With `raise_exception`, refuse with the API's problem."""
        is_valid = super().is_valid()
        if raise_exception and not is_valid:
            raise Refused(self._problem)
        return is_valid

    def to_representation(self, instance: Any) -> Any:
        return msgspec.to_builtins(instance)


_of_struct: dict[type[Struct], type[StructSerializer]] = {}


def serializer_of(struct: type[Struct]) -> type[StructSerializer]:
    """The serializer of a struct: a named one, or one that is made here."""
    found = _of_struct.get(struct)
    if found is None:
        name = struct.__name__.removesuffix("Answer").removesuffix("Request") + _SUFFIX
        found = type(name, (StructSerializer,), {"struct": struct})
    return found


def _detail(problem: Problem) -> dict[str, list[str]]:
    detail: dict[str, list[str]] = {}
    for error in problem.errors:
        detail.setdefault(error.field, []).append(error.message)
    return detail


def _field(info: inspect.Field) -> AnyField:
    expected = _expected(info.type)
    options: dict[str, Any] = {
        "required": info.required,
        "help_text": expected.schema.get("description", ""),
    }
    if expected.is_nullable:
        options["allow_null"] = True
    return _made(expected, options)


class _Expected(msgspec.Struct):
    kind: inspect.Type
    schema: Mapping[str, Any]
    is_nullable: bool


def _expected(kind: inspect.Type) -> _Expected:
    """Without annotations and alternatives. The outermost description is the most specific."""
    schema: dict[str, Any] = {}
    is_nullable = False
    while isinstance(kind, inspect.Metadata | inspect.UnionType):
        if isinstance(kind, inspect.Metadata):
            schema = {**(kind.extra_json_schema or {}), **schema}
            kind = kind.type
        else:
            is_nullable |= any(isinstance(each, inspect.NoneType) for each in kind.types)
            kind = next(each for each in kind.types if not isinstance(each, inspect.NoneType))
    return _Expected(kind, schema, is_nullable)


def _made(expected: _Expected, options: dict[str, Any]) -> AnyField:
    kind = expected.kind
    match kind:
        case inspect.StructType():
            return serializer_of(kind.cls)(**options)
        case inspect.ListType():
            child = _made(_expected(kind.item_type), {})
            limits = _limits(min_length=kind.min_length, max_length=kind.max_length)
            return fields.ListField(child=child, **limits, **options)
        case inspect.DictType():
            return fields.DictField(child=_made(_expected(kind.value_type), {}), **options)
        case inspect.IntType():
            return fields.IntegerField(**_limits(min_value=kind.ge, max_value=kind.le), **options)
        case inspect.StrType():
            limits = _limits(min_length=kind.min_length, max_length=kind.max_length)
            is_email = expected.schema.get("format") == "email"
            text = fields.EmailField if is_email else fields.CharField
            return text(**limits, **options)
        case inspect.EnumType():
            # As drf-spectacular reads the enums that ENUM_NAME_OVERRIDES names.
            return fields.ChoiceField([(each.value, each.name) for each in kind.cls], **options)
    return _SIMPLE[type(kind)](**options)


_SIMPLE: Mapping[type[inspect.Type], Callable[..., AnyField]] = {
    inspect.BoolType: fields.BooleanField,
    inspect.DateTimeType: fields.DateTimeField,
    inspect.FloatType: fields.FloatField,
    inspect.UUIDType: fields.UUIDField,
}


def _limits(**limits: int | None) -> dict[str, Any]:
    return {name: value for name, value in limits.items() if value is not None}
