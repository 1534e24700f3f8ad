"""Generates the OpenAPI 3.1 document from the routes."""

import re
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from msgspec import Struct, inspect

from holdfast.domain.access.members import ACTING_USER_LENGTH_MAX
from holdfast.domain.holds.hold import CART_TOKEN_LENGTH_MAX
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.catalog.examples import SEAT_LIST
from holdfast.entrypoints.api.http.codes import KINDS, RETRY_LATER, RETRY_SOON, Code, ProblemCode
from holdfast.entrypoints.api.http.fields import HEADER_OF_FIELD
from holdfast.entrypoints.api.http.replies import ACCEPTED, OK
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.openapi.components import Components, Json, referenced
from holdfast.entrypoints.api.openapi.example_values import PATH_EXAMPLES
from holdfast.entrypoints.api.openapi.examples import (
    ANSWERS,
    RELEASED,
    REQUESTS,
    WAITLIST_ANSWERS,
)
from holdfast.entrypoints.api.openapi.glossary import GLOSSARY
from holdfast.entrypoints.api.openapi.links import links_of
from holdfast.entrypoints.api.openapi.problem_examples import problem_example
from holdfast.entrypoints.api.openapi.schemas import parameter_schemas, schemas, types_in

TOO_MANY = 429
_PARAMETER = re.compile(r"\{(\w+)\}")

_OF_ANY_ROUTE: tuple[Code, ...] = (
    ProblemCode.INVALID_CHARACTERS,
    ProblemCode.UNAUTHORIZED,
    ProblemCode.INSUFFICIENT_SCOPE,
    ProblemCode.SECRET_KEY_REQUIRED,
    ProblemCode.TOO_MANY_REQUESTS,
    RefusalCode.RATE_LIMIT_EXCEEDED,
    RefusalCode.INTERNAL_ERROR,
    RefusalCode.SERVICE_UNAVAILABLE,
)
_OF_UNSAFE_ROUTES: tuple[Code, ...] = (
    ProblemCode.MALFORMED_JSON,
    ProblemCode.INVALID_IDEMPOTENCY_KEY,
    ProblemCode.BODY_TOO_LARGE,
    ProblemCode.UNSUPPORTED_MEDIA_TYPE,
    ProblemCode.INVALID_ACTING_USER,
    RefusalCode.REQUEST_IN_PROGRESS,
    RefusalCode.IDEMPOTENCY_KEY_REUSED,
)
# Beside other codes, a response only names these; their examples are among the components.
_OF_ALL = frozenset({*_OF_ANY_ROUTE, *_OF_UNSAFE_ROUTES})
_MEANINGS = {
    400: "Invalid request",
    401: "Missing or invalid credential",
    402: "Payment failed",
    403: "Missing scope, or not for holder tokens",
    404: "Not found, or not yours",
    409: "Conflict with the current state",
    410: "No longer available",
    413: "Body too large",
    415: "Unsupported media type",
    422: "Idempotency key used for another request",
    429: "Too many requests or seats: retry later",
    500: "Internal error",
    503: "Unavailable: retry later",
}
_HEADERS: dict[str, Json] = {
    "X-Request-ID": {
        "description": "Your request id, or ours if you sent none. Quote it when you ask for help.",
        "schema": {"type": "string"},
    },
    "Idempotent-Replayed": {
        "description": "`true` if this is the answer to an earlier, equal request.",
        "schema": {"type": "string", "const": "true"},
    },
    "RateLimit-Policy": {
        "description": "The rate limits that applied: `q` seats or requests in `w` seconds. Only "
        "if your organization has set any.",
        "schema": {"type": "string", "examples": ['"seats_per_holder";q=10;w=300']},
    },
    "RateLimit": {
        "description": "For each rate limit: `r` seats or requests are left, and more become "
        "available in `t` seconds.",
        "schema": {"type": "string", "examples": ['"seats_per_holder";r=3;t=120']},
    },
    "ETag": {
        "description": "Identifies this answer; send it back as If-None-Match.",
        "schema": {"type": "string"},
    },
    "Content-Encoding": {
        "description": "The coding of a compressed answer: one that your Accept-Encoding lists. "
        "Small answers are not compressed.",
        "schema": {"type": "string", "enum": ["zstd", "gzip"]},
    },
    "Vary": {
        "description": "The answer depends on your Accept-Encoding and, for a holder token, on "
        "your Origin.",
        "schema": {"type": "string", "enum": ["accept-encoding", "accept-encoding, origin"]},
    },
    "Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}},
}
_IDEMPOTENCY_KEY: Json = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A text of your choice. For at least 24 hours, the same key and request "
    "have one effect and one answer; another request with the key is refused.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
_ACTING_USER: Json = {
    "name": "X-Acting-User",
    "in": "header",
    "required": False,
    "description": "Your id of the person on whose behalf a key makes this call. It is recorded in "
    "the audit log, and not checked.",
    "schema": {"type": "string", "minLength": 1, "maxLength": ACTING_USER_LENGTH_MAX},
}
_CART_NAME: Json = {"type": "string", "minLength": 1, "maxLength": CART_TOKEN_LENGTH_MAX}


def openapi_document(routes: Sequence[Route[Any]]) -> Json:
    components = Components()
    paths: dict[str, Json] = {}
    for route in routes:
        operation = _operation(route, components)
        operation["responses"] |= _linked(route, routes, operation["responses"], components)
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Holdfast",
            "version": version("holdfast"),
            "description": "Reserves tickets and seats for a few minutes during checkout. "
            "Amounts are in minor units, times in UTC, lists newest first. "
            "Fields without a value are omitted.",
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"secretKey": []}],
        "paths": paths,
        "components": {
            "schemas": schemas(routes),
            **components.shared,
            "securitySchemes": {
                "secretKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A secret key, `hk_test_...` or `hk_live_...`, for servers "
                    "only, or the session of a member, `hs_...`. It identifies the organization.",
                },
                "holderToken": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A holder token: `ht_test_...` or `ht_live_...`. For browsers: "
                    "it acts for one holder. Omit `user_id`, `customer_email` and "
                    "`X-Customer-Email`.",
                },
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
            codes.extend(_rule_codes(struct))
            if route.is_for_holders and "user_id" in struct.__struct_fields__:
                codes.append(ProblemCode.HOLDER_FROM_TOKEN)
    return tuple(dict.fromkeys(codes))


def _operation(route: Route[Any], components: Components) -> Json:
    operation: Json = {
        "operationId": route.handler.__name__,
        "summary": route.summary,
        "tags": [route.path.split("/")[2]],
        "security": security_of(route),
        "parameters": [
            components.share("parameters", each["name"], each) for each in _parameters(route)
        ],
        "responses": _responses(route, components),
    }
    if route.description is not None:
        operation["description"] = route.description
    if route.body is not None:
        examples = {name: {"value": given} for name, given in REQUESTS[route.body].items()}
        schema = referenced("schemas", route.body.__name__)
        content: Json = {"application/json": {"schema": schema, "examples": examples}}
        if route.takes_csv:
            content["text/csv"] = {"schema": {"type": "string"}, "example": SEAT_LIST}
        operation["requestBody"] = {"required": not route.is_body_optional, "content": content}
    return operation


def security_of(route: Route[Any]) -> list[Json]:
    if route.is_public:
        return []
    scopes = [] if route.scope is None else [route.scope.value]
    holders: list[Json] = [{"holderToken": []}] if route.is_for_holders else []
    return [{"secretKey": scopes}, *holders]


def _parameters(route: Route[Any]) -> Iterator[Json]:
    for name in _PARAMETER.findall(route.path):
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": GLOSSARY[name],
            "schema": _CART_NAME if route.is_of_cart else {"type": "string", "format": "uuid"},
            "example": PATH_EXAMPLES[name],
        }
    if route.query is not None:
        for name, schema in parameter_schemas(route.query).items():
            description = schema.pop("description")
            header = HEADER_OF_FIELD.get(name)
            yield {
                "name": header or name,
                "in": "header" if header else "query",
                "required": False,
                "description": description,
                "schema": schema,
            }
    if route.is_unsafe and not route.is_public:
        yield _IDEMPOTENCY_KEY
        yield _ACTING_USER


def _responses(route: Route[Any], components: Components) -> dict[str, Json]:
    names = ["X-Request-ID", "RateLimit-Policy", "RateLimit"]
    names += ["Idempotent-Replayed"] if route.is_unsafe else []
    names += ["ETag"] if route.has_etag else []
    names += ["Content-Encoding", "Vary"] if route.is_compressed else []
    headers = _headers(components, *names)
    responses: dict[str, Json] = {}
    for status, meaning in {route.status: route.returns, **route.also}.items():
        shown = _shown(route, status, components)
        responses[str(status)] = {
            "description": meaning,
            "headers": headers,
            "content": {"application/json": shown},
        }
    if route.has_etag:
        responses["304"] = {
            "description": "Unchanged since the answer named in If-None-Match.",
            "headers": _headers(components, "X-Request-ID", "ETag", "Vary"),
        }
    by_status: dict[int, list[Code]] = {}
    for code in route_codes(route):
        by_status.setdefault(KINDS[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        responses[str(status)] = _problem_response(status, codes, components)
    return responses


def _linked(
    route: Route[Any], routes: Sequence[Route[Any]], responses: Json, components: Components
) -> dict[str, Json]:
    """The successes, with their links."""
    links = links_of(route, routes, components)
    statuses = map(str, (route.status, *route.also)) if links else ()
    return {status: responses[status] | {"links": links} for status in statuses}


def _shown(route: Route[Any], status: int, components: Components) -> Json:
    """The schema of a success, and an example of it."""
    name, example = route.answer.__name__, ANSWERS[route.answer]
    schema = referenced("schemas", name)
    examples = {"answer": components.share("examples", name, {"value": example})}
    if route.ends_hold:
        examples = {"answer": components.share("examples", "ReleasedHold", {"value": RELEASED})}
    if status == ACCEPTED:
        waiting = {"value": WAITLIST_ANSWERS[route.answer]}
        examples = {"waiting": components.share("examples", f"{name}Waiting", waiting)}
    if status == OK and route.empty_answer is not None:
        empty = route.empty_answer.__name__
        schema = {"oneOf": [schema, referenced("schemas", empty)]}
        given = {"value": ANSWERS[route.empty_answer]}
        examples["empty"] = components.share("examples", empty, given)
    return {"schema": schema, "examples": examples}


def _headers(components: Components, *names: str) -> Json:
    return {name: components.share("headers", name, _HEADERS[name]) for name in names}


def _problem_response(status: int, codes: Sequence[Code], components: Components) -> Json:
    shown = {
        code: components.share("examples", code.value, {"value": problem_example(code)})
        for code in codes
    }
    own = [code for code in codes if code not in _OF_ALL] or codes
    examples = {code.value: shown[code] for code in own}
    retried = ["Retry-After"] if any(code in RETRY_SOON | RETRY_LATER for code in codes) else []
    limited = ["RateLimit-Policy", "RateLimit"] if status == TOO_MANY else []
    response: Json = {
        "description": f"{_MEANINGS[status]}: " + ", ".join(f"`{code.value}`" for code in codes),
        "headers": _headers(components, "X-Request-ID", *retried, *limited),
        "content": {
            "application/problem+json": {
                "schema": referenced("schemas", "Problem"),
                "examples": examples,
            }
        },
    }
    # A response of several codes stays inline: no name would fit it.
    return components.share("responses", codes[0].value, response) if len(codes) == 1 else response


def _rule_codes(struct: type[Struct]) -> Iterator[Code]:
    """The codes of the rules on fields."""
    for info in types_in(inspect.type_info(struct)):
        if isinstance(info, inspect.Metadata) and info.extra and "code" in info.extra:
            yield ProblemCode(info.extra["code"])
