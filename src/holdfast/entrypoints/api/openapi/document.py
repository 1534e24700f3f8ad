"""The OpenAPI 3.1 document, made of the table of routes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Any

import msgspec
from msgspec import inspect

from holdfast.domain import refusals
from holdfast.domain.holds.hold import CART_TOKEN_LENGTH_MAX
from holdfast.domain.orders.order import TICKETS_PER_ORDER_MAX
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.waitlist.queues import QUEUES_MAX
from holdfast.entrypoints.api.catalog.hall_examples import SEAT_LIST
from holdfast.entrypoints.api.http.codes import KINDS, RETRY_SOON, Code, ProblemCode
from holdfast.entrypoints.api.http.problems import FieldError, problem_body
from holdfast.entrypoints.api.http.replies import ACCEPTED, OK
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.openapi.example_values import HOLD, NOW, ORDER, SEATS, SESSION
from holdfast.entrypoints.api.openapi.examples import (
    ANSWERS,
    REQUEST_ID,
    REQUESTS,
    WAITLIST_ANSWERS,
)

Json = dict[str, Any]

_REF = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)\}")

_OF_ANY_ROUTE: tuple[Code, ...] = (
    ProblemCode.INVALID_CHARACTERS,
    ProblemCode.UNAUTHORIZED,
    ProblemCode.INSUFFICIENT_SCOPE,
    ProblemCode.TOO_MANY_REQUESTS,
    RefusalCode.INTERNAL_ERROR,
    RefusalCode.SERVICE_UNAVAILABLE,
)
_OF_UNSAFE_ROUTES: tuple[Code, ...] = (
    ProblemCode.MALFORMED_JSON,
    ProblemCode.INVALID_IDEMPOTENCY_KEY,
    ProblemCode.BODY_TOO_LARGE,
    ProblemCode.UNSUPPORTED_MEDIA_TYPE,
    RefusalCode.REQUEST_IN_PROGRESS,
    RefusalCode.IDEMPOTENCY_KEY_REUSED,
)
_REFUSALS: dict[Code, Refusal] = {
    refusal.code: refusal
    for refusal in (
        refusals.quantity_above_maximum(8),
        refusals.insufficient_inventory(1),
        refusals.capacity_in_use(120),
        refusals.invalid_hold_state("cancelled"),
        refusals.seat_held_by_another_user(
            {"expires_at": "2026-01-15T10:25:00Z", "expires_in": 212}
        ),
        refusals.seat_not_available({"current_status": "sold"}),
        refusals.lock_not_available(SEATS[:1]),
        refusals.not_enough_seats(10, 0),
        refusals.block_at_capacity("Balcony", 1),
        refusals.orphan_seat(["0198f1c0-aa10-7d00-9c2e-4b1f0e7a0009"]),
        refusals.active_hold_exists("0198f1c2-7b1e-7c3a-9d52-3f8a6f0c0006", 412),
        refusals.already_waiting("0198f1c2-7b1e-7c3a-9d52-3f8a6f0c0006", 3412),
        refusals.event_not_available(),
        refusals.event_unavailable(),
        refusals.event_sales_closed(),
        refusals.invalid_seat(),
        refusals.invalid_block(),
        refusals.seat_not_found(),
        refusals.invalid_event_state("cancelled"),
        refusals.invalid_sale_window(),
        refusals.invalid_seats(
            [{"field": "line 17", "code": "required", "message": "number is required"}], 1
        ),
        refusals.duplicate_block(),
        refusals.block_not_found(),
        refusals.invalid_session(),
        refusals.invalid_ticket_type(),
        refusals.invalid_event(),
        refusals.invalid_pool(),
        refusals.event_not_found(),
        refusals.session_not_found(),
        refusals.ticket_type_not_found(),
        refusals.pool_not_found(),
        refusals.hold_not_found(),
        refusals.hold_expired(),
        refusals.extension_limit_reached(NOW),
        refusals.expired_before_checkout([str(HOLD)]),
        refusals.empty_cart(),
        refusals.different_holders(),
        refusals.different_currencies(),
        refusals.too_many_tickets(TICKETS_PER_ORDER_MAX),
        refusals.too_many_attendees(2),
        refusals.checkout_not_found(),
        refusals.order_not_found(),
        refusals.payment_refused("it is not the amount that is due"),
        refusals.already_paid(str(ORDER)),
        refusals.amount_changed(13_500, "EUR"),
        refusals.cart_of_another_holder(),
        refusals.cart_of_another_session(str(SESSION)),
        refusals.waiting_places_exceeded(4),
        refusals.too_many_queues(QUEUES_MAX),
        refusals.others_are_waiting(),
        refusals.idempotency_key_reused(),
        refusals.request_in_progress(),
        refusals.service_unavailable(),
        refusals.internal_error(),
    )
}
_REQUEST_ID_HEADER = {
    "X-Request-ID": {
        "description": "Yours, if you sent one, or ours. Name it when you ask for help.",
        "schema": {"type": "string"},
    }
}
_REPLAYED_HEADER = {
    "Idempotent-Replayed": {
        "description": "`true` when this is the answer to an earlier, equal request.",
        "schema": {"type": "string", "const": "true"},
    }
}
_ETAG_HEADER = {
    "ETag": {
        "description": "Names this very answer; send it back as If-None-Match.",
        "schema": {"type": "string"},
    }
}
_CART_NAME: Json = {
    "type": "string",
    "minLength": 1,
    "maxLength": CART_TOKEN_LENGTH_MAX,
    "description": "Your own name of the cart, to the letter; percent-encode what needs it.",
    "examples": ["cart-8842"],
}
_RETRY_HEADER = {
    "Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}}
}


def openapi_document(routes: Sequence[Route[Any]]) -> Json:
    paths: dict[str, Json] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Holdfast",
            "version": version("holdfast"),
            "description": "Holds tickets for a few minutes while their buyer pays. Amounts are "
            "whole minor units; times are UTC; lists are newest first.",
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"secretKey": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas(routes),
            "securitySchemes": {
                "secretKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A secret key: `hk_test_...` or `hk_live_...`. For servers "
                    "only; it says which organization is calling.",
                }
            },
        },
    }


def route_codes(route: Route[Any]) -> tuple[Code, ...]:
    """Every code that the route may answer with."""
    codes = [*route.refusals, route.invalid, *_OF_ANY_ROUTE]
    codes += [each.code for each in (route.not_found, route.nested_not_found) if each is not None]
    if route.is_of_cart:
        codes.append(ProblemCode.INVALID_CART)
    if route.is_unsafe:
        codes.extend(_OF_UNSAFE_ROUTES)
    for struct in (route.body, route.query):
        if struct is not None:
            codes.extend(_rule_codes(inspect.type_info(struct)))
    return tuple(dict.fromkeys(codes))


def _operation(route: Route[Any]) -> Json:
    operation: Json = {
        "operationId": route.handler.__name__,
        "summary": route.summary,
        "tags": [route.path.split("/")[2]],
        "security": [{"secretKey": [route.scope.value]}],
        "parameters": list(_parameters(route)),
        "responses": _responses(route),
    }
    if route.description is not None:
        operation["description"] = route.description
    if route.body is not None:
        examples = {name: {"value": given} for name, given in REQUESTS[route.body].items()}
        content: Json = {
            "application/json": {"schema": _reference(route.body), "examples": examples}
        }
        if route.takes_csv:
            content["text/csv"] = {"schema": {"type": "string"}, "example": SEAT_LIST}
        operation["requestBody"] = {"required": not route.is_body_optional, "content": content}
    return operation


def _parameters(route: Route[Any]) -> Iterator[Json]:
    for name in _PARAMETER.findall(route.path):
        schema = _CART_NAME if route.is_of_cart else {"type": "string", "format": "uuid"}
        yield {"name": name, "in": "path", "required": True, "schema": schema}
    if route.query is not None:
        _, components = msgspec.json.schema_components([route.query], ref_template=_REF)
        for name, schema in components[route.query.__name__]["properties"].items():
            yield {"name": name, "in": "query", "required": False, "schema": schema}
    if route.is_unsafe:
        yield {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "description": "Any text of your own. The same key with the same request has one "
            "effect and one answer, for at least 24 hours; with another request it is refused.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255},
        }


def _responses(route: Route[Any]) -> dict[str, Json]:
    success: Json = {
        "description": "Done" if route.is_unsafe else "Found",
        "headers": {**_REQUEST_ID_HEADER, **(_REPLAYED_HEADER if route.is_unsafe else {})},
        "content": {
            "application/json": {
                "schema": _reference(route.answer),
                "example": ANSWERS[route.answer],
            }
        },
    }
    if route.has_etag:
        success["headers"] = {**success["headers"], **_ETAG_HEADER}
    responses = {str(route.status): success}
    if route.has_etag:
        responses["304"] = {
            "description": "Still what your If-None-Match names.",
            "headers": {**_REQUEST_ID_HEADER, **_ETAG_HEADER},
        }
    for status, meaning in route.also.items():
        other = _other_content(route, status)
        responses[str(status)] = {**success, **other, "description": meaning}
    by_status: dict[int, list[Code]] = {}
    for code in route_codes(route):
        by_status.setdefault(KINDS[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        responses[str(status)] = _problem_response(codes)
    return responses


def _other_content(route: Route[Any], status: int) -> Json:
    """The content of a further success, where it is not that of the first."""
    if status == ACCEPTED:
        shown = {"schema": _reference(route.answer), "example": WAITLIST_ANSWERS[route.answer]}
        return {"content": {"application/json": shown}}
    if status == OK and route.empty_answer is not None:
        either = [_reference(route.answer), _reference(route.empty_answer)]
        return {"content": {"application/json": {"schema": {"oneOf": either}}}}
    return {}


def _problem_response(codes: Iterable[Code]) -> Json:
    codes = tuple(codes)
    headers: Json = dict(_REQUEST_ID_HEADER)
    if any(code in RETRY_SOON for code in codes):
        headers.update(_RETRY_HEADER)
    return {
        "description": ", ".join(f"`{code.value}`" for code in codes),
        "headers": headers,
        "content": {
            "application/problem+json": {
                "schema": {"$ref": _REF.format(name="Problem")},
                "examples": {code.value: {"value": _problem_example(code)} for code in codes},
            }
        },
    }


def _problem_example(code: Code) -> Json:
    refusal = _REFUSALS.get(code)
    if refusal is not None:
        return problem_body(code, refusal.message, REQUEST_ID, refusal.details)
    errors: tuple[FieldError, ...] = ()
    if code is ProblemCode.VALIDATION_ERROR:
        errors = (FieldError("session_id", "required", "This field is required"),)
    if code is ProblemCode.INVALID_REQUEST:
        errors = (FieldError("source", "invalid_value", "Must be one of: web, scanner"),)
    return problem_body(code, KINDS[code].title, REQUEST_ID, errors=errors)


def _reference(struct: type[msgspec.Struct]) -> Json:
    return {"$ref": _REF.format(name=struct.__name__)}


def _schemas(routes: Sequence[Route[Any]]) -> Json:
    structs: set[type[msgspec.Struct]] = {FieldError}
    for route in routes:
        structs |= {each for each in (route.answer, route.empty_answer, route.body) if each}
    # A query is told parameter by parameter, but an enumeration in it goes by its name.
    queries = {route.query for route in routes if route.query}
    ordered = sorted(structs | queries, key=lambda struct: struct.__name__)
    _, components = msgspec.json.schema_components(ordered, ref_template=_REF)
    for query in queries:
        del components[query.__name__]
    return {**components, "Problem": _problem_schema()}


def _problem_schema() -> Json:
    text = {"type": "string"}
    return {
        "title": "Problem",
        "description": "RFC 9457. Branch on `error`; a refusal may have further fields, such as "
        "`available_quantity`.",
        "type": "object",
        "properties": {
            "type": {"type": "string", "format": "uri"},
            "title": text,
            "status": {"type": "integer"},
            "detail": text,
            "error": {"type": "string", "enum": sorted(KINDS)},
            "message": text,
            "request_id": text,
            "available_quantity": {"type": "integer", "minimum": 0},
            "errors": {"type": "array", "items": _reference(FieldError)},
        },
        "required": ["type", "title", "status", "detail", "error", "message", "request_id"],
    }


def _rule_codes(info: Any) -> Iterator[Code]:
    """The codes that rules on fields carry, however deep."""
    match info:
        case inspect.Metadata():
            code = (info.extra or {}).get("code")
            if code is not None:
                yield ProblemCode(code)
            yield from _rule_codes(info.type)
        case inspect.StructType():
            for field in info.fields:
                yield from _rule_codes(field.type)
        case inspect.ListType():
            yield from _rule_codes(info.item_type)
        case inspect.UnionType():
            for member in info.types:
                yield from _rule_codes(member)
