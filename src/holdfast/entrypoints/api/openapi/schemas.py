"""Generates the schemas from the structs. Every property has a description."""

from collections.abc import Iterator, Sequence
from inspect import cleandoc
from typing import Any

import msgspec
from msgspec import inspect

from holdfast.entrypoints.api.http.codes import KINDS
from holdfast.entrypoints.api.http.problems import FieldError
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.openapi.components import Json, referenced
from holdfast.entrypoints.api.openapi.glossary import GLOSSARY

_REF = "#/components/schemas/{name}"


def schemas(routes: Sequence[Route[Any]]) -> Json:
    structs: set[type[msgspec.Struct]] = {FieldError}
    for route in routes:
        structs |= {each for each in (route.answer, route.empty_answer, route.body) if each}
    # Queries are described by parameter, but their enumerations need a schema.
    queries = {route.query for route in routes if route.query}
    ordered = sorted(structs | queries, key=lambda struct: struct.__name__)
    described = _described(ordered)
    for query in queries:
        del described[query.__name__]
    return {**described, "Problem": _problem_schema()}


def parameter_schemas(query: type[msgspec.Struct]) -> dict[str, Json]:
    return dict(_described([query])[query.__name__]["properties"])


def _described(structs: Sequence[type[msgspec.Struct]]) -> dict[str, Json]:
    """The schemas of these structs and of all within them."""
    _, components = msgspec.json.schema_components(structs, ref_template=_REF)
    for schema in components.values():
        if "description" in schema:
            schema["description"] = " ".join(cleandoc(schema["description"]).split())
    for info in inspect.multi_type_info(structs):
        for struct in types_in(info):
            if not isinstance(struct, inspect.StructType):
                continue
            properties = components[struct.cls.__name__]["properties"]
            for field in struct.fields:
                about = _description(field.type) or GLOSSARY[field.encode_name]
                properties[field.encode_name] = _without_description(
                    properties[field.encode_name]
                ) | {"description": about}
    return components


def types_in(info: inspect.Type) -> Iterator[inspect.Type]:
    """This type and all within it, at any depth."""
    yield info
    match info:
        case inspect.StructType():
            within = [field.type for field in info.fields]
        case inspect.Metadata():
            within = [info.type]
        case inspect.ListType():
            within = [info.item_type]
        case inspect.UnionType():
            within = list(info.types)
        case _:
            within = []
    for each in within:
        yield from types_in(each)


def _description(info: inspect.Type) -> str | None:
    """The field's own description, also if its schema is a reference or nullable."""
    match info:
        case inspect.Metadata():
            own = (info.extra_json_schema or {}).get("description")
            return str(own) if own else _description(info.type)
        case inspect.UnionType():
            return next(filter(None, map(_description, info.types)), None)
    return None


def _without_description(schema: Json) -> Json:
    """Drop the descriptions of alternatives: the property has one for all."""
    if "anyOf" in schema:
        schema = schema | {"anyOf": [_without_description(each) for each in schema["anyOf"]]}
    return {name: value for name, value in schema.items() if name != "description"}


def _problem_schema() -> Json:
    def text(description: str) -> Json:
        return {"type": "string", "description": description}

    return {
        "title": "Problem",
        "description": "RFC 9457. Branch on `error`; a refusal may have further fields.",
        "type": "object",
        "properties": {
            "type": text("The code as a URN.") | {"format": "uri"},
            "title": text("The kind of problem, in words."),
            "status": {"type": "integer", "description": "The HTTP status."},
            "detail": text("The same as `message`."),
            "error": text("Stable code of the problem.") | {"enum": sorted(KINDS)},
            "message": text("Explanation for people."),
            "request_id": text(GLOSSARY["request_id"]),
            "available_quantity": {
                "type": "integer",
                "minimum": 0,
                "description": "Number still available, if too few are left.",
            },
            "errors": {
                "type": "array",
                "items": referenced("schemas", FieldError.__name__),
                "description": "All invalid fields.",
            },
        },
        "required": ["type", "title", "status", "detail", "error", "message", "request_id"],
    }
