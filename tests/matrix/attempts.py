"""Requests with somebody else's ids, generated from the table of routes. A new route is attacked
without a change here, unless it takes an id that no tenant has: then the generator says so."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode
from uuid import uuid4

import msgspec
from msgspec import inspect

from holdfast.entrypoints.api.http.fields import HEADER_OF_FIELD
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.openapi.examples import REQUESTS
from tests.matrix.installation import Request
from tests.matrix.tenants import substituted

Ids = Mapping[str, Sequence[str]]

VERBS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# The texts that name something. Every UUID does.
_NAMING = re.compile(r"(_id|token|reference|email|ticket_code|username|actor|acting_user)$")
IDEMPOTENCY = "idempotency-key"
# What only a server may send; a browser's request would be refused for it.
_OF_SERVERS = {"user_id", "customer_email", "unit_price", "as_operator", "notes", "metadata"}


class Field(NamedTuple):
    """Where a request has an id, and of what. `at` leads to it, with * for the items of a list."""

    place: str  # path, query, body or header
    at: tuple[str, ...]
    kind: str

    def __str__(self) -> str:
        return f"{self.place} {'.'.join(self.at)}"


@dataclass(frozen=True)
class Attempt:
    route: Route[Any]
    verb: str
    field: Field | None
    values: Ids  # of the caller, or of the victim
    value: str | None = None  # of the field, if not that of `values`
    example: Any = None  # of the body, from the documentation
    is_browser: bool = False

    def __str__(self) -> str:
        return f"{self.verb} {self.route.path} {self.field or '-'}={self.value}"

    @property
    def is_read(self) -> bool:
        return self.verb in {"GET", "HEAD", "OPTIONS"}

    @property
    def is_served(self) -> bool:
        return self.verb == self.route.method or (self.verb, self.route.method) == ("HEAD", "GET")

    def with_values(self, values: Ids, value: str | None) -> "Attempt":
        return Attempt(
            self.route, self.verb, self.field, values, value, self.example, self.is_browser
        )

    def request(self, secret: str | None) -> Request:
        headers = [] if secret is None else [(b"authorization", f"Bearer {secret}".encode())]
        place, at = (self.field.place, self.field.at) if self.field else ("", ())
        if self.value is not None and place == "header":
            headers.append((at[0].encode(), self.value.encode()))
        query, body = {}, b""
        if self.value is not None and place == "query":
            query = {at[0]: self.value}
        if not self.is_read and self.route.body is not None:
            headers.append((b"content-type", b"application/json"))
            body = json.dumps(self._body()).encode()
        target = self._path() + (f"?{urlencode(query)}" if query else "")
        return Request(self.verb, target, headers, body)

    def _path(self) -> str:
        def value(name: str) -> str:
            is_field = self.field is not None and self.field.at == (name,)
            is_given = is_field and self.field is not None and self.field.place == "path"
            return self.value if is_given and self.value else _known(self.values, name, self.route)

        return re.sub(r"\{(\w+)\}", lambda found: quote(value(found[1]), safe=""), self.route.path)

    def _body(self) -> Any:
        body = substituted(self.example, self.values)
        is_given = self.value is not None and self.field is not None
        if self.is_browser:
            label = () if self.route.path == "/api/checkouts" else ("cart_token",)
            body = _without(body, {*_OF_SERVERS, *label})
        if is_given and self.field is not None and self.field.place == "body":
            body = _set(body, self.field.at, self.value)
        return body


def _without(given: Any, names: Iterable[str]) -> Any:
    if isinstance(given, list):
        return [_without(each, names) for each in given]
    if isinstance(given, dict):
        return {name: _without(each, names) for name, each in given.items() if name not in names}
    return given


def _set(given: Any, at: Sequence[str], value: Any) -> Any:
    """Replace the value there, in the first item of every list on the way."""
    if not at:
        return value
    name, *rest = at
    if name == "*" and not rest:
        return [value]  # alone, since it may be one of the others
    if name == "*":
        return [_set(given[0] if given else None, rest, value), *(given or ())[1:]]
    return {**(given or {}), name: _set((given or {}).get(name), rest, value)}


def fields_of(route: Route[Any]) -> list[Field]:
    """Every place of a request that names something."""
    names = re.findall(r"\{(\w+)\}", route.path)
    found = [Field("path", (name,), name) for name in names]
    if route.query is not None:
        found += [_of_query(at) for at in _ids_in(route.query)]
    if route.body is not None:
        found += [Field("body", at, _singular(at)) for at in _ids_in(route.body)]
    if route.is_unsafe and not route.is_public:
        found.append(Field("header", (IDEMPOTENCY,), IDEMPOTENCY))
    return found


def _of_query(at: tuple[str, ...]) -> Field:
    header = HEADER_OF_FIELD.get(at[-1])
    return Field("query", at, at[-1]) if header is None else Field("header", (header.lower(),), *at)


def _singular(at: tuple[str, ...]) -> str:
    name = at[-2] if at[-1] == "*" else at[-1]
    return name.removesuffix("s") if name.endswith("_ids") else name


def _ids_in(struct: type[Any]) -> tuple[tuple[str, ...], ...]:
    return tuple(_walk(inspect.type_info(struct), ()))


def _walk(kind: inspect.Type, at: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    match kind:
        case inspect.Metadata(type=inner):
            yield from _walk(inner, at)
        case inspect.UnionType(types=several):
            yield from dict.fromkeys(each for one in several for each in _walk(one, at))
        case inspect.ListType(item_type=item):
            yield from _walk(item, (*at, "*"))
        case inspect.StructType(fields=fields):
            for each in fields:
                yield from _walk(each.type, (*at, each.encode_name))
        case inspect.UUIDType():
            yield at
        case inspect.StrType() if at[-1] != "*" and _NAMING.search(at[-1]):
            yield at


def _known(values: Ids, name: str, route: Route[Any]) -> str:
    if name not in values:
        raise AssertionError(
            f"{route.method} {route.path} takes {name}, and no tenant of the matrix has one."
            " Give it to `new_tenant` in tests/matrix/tenants.py"
        )
    return values[name][0]


def examples_of(route: Route[Any], at: Sequence[str] | None = None) -> list[Any]:
    """The documentation's examples of the body that have this field, or one that gets it."""
    if route.body is None:
        return [None]
    if route.body not in REQUESTS:
        raise AssertionError(f"{route.method} {route.path} has no example of its body")
    examples = [msgspec.to_builtins(each) for each in REQUESTS[route.body].values()]
    if at is None:
        return examples
    having = [each for each in examples if _has(each, at)]
    return having or [_completed(examples[0], inspect.type_info(route.body), at)]


def _has(given: Any, at: Sequence[str]) -> bool:
    if not at:
        return given is not None
    name, *rest = at
    if name == "*":
        return bool(given) and _has(given[0], rest)
    return isinstance(given, dict) and name in given and _has(given[name], rest)


def _completed(example: Any, kind: inspect.Type, at: Sequence[str]) -> Any:
    """The example with every list of structs on the way filled from another example."""
    for depth, name in enumerate(at[:-1]):
        if name == "*" and not _has(example, at[: depth + 1]):
            inner = next(
                msgspec.to_builtins(found)
                for several in REQUESTS.values()
                for each in several.values()
                for found in _structs_in(each)
                if at[depth + 1] in found.__struct_fields__ and found is not each
            )
            return _set(deepcopy(example), at[: depth + 1], inner)
    return example


def _structs_in(given: Any) -> Iterator[msgspec.Struct]:
    if isinstance(given, msgspec.Struct):
        yield given
        for name in given.__struct_fields__:
            yield from _structs_in(getattr(given, name))
    elif isinstance(given, list):
        for each in given:
            yield from _structs_in(each)


class Aliases:
    """An id that nothing has for each id: the same one each time, so that what a caller does with
    it adds up to the same."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}

    def of(self, value: str) -> str:
        if value not in self._made:
            self._made[value] = unlike(value)
        return self._made[value]

    @property
    def made(self) -> set[str]:
        return set(self._made.values())


@dataclass(frozen=True)
class Nobody(Mapping[str, Sequence[str]]):
    """`like`, with aliases for the kinds of ids that are hidden."""

    like: Ids
    hidden: Collection[str]
    aliases: Aliases

    def __getitem__(self, name: str) -> Sequence[str]:
        values = self.like[name]
        return tuple(map(self.aliases.of, values)) if name in self.hidden else values

    def __iter__(self) -> Iterator[str]:
        return iter(self.like)

    def __len__(self) -> int:
        return len(self.like)


_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHORT = re.compile(r"[A-Z0-9]{6,12}")


def is_uuid(value: str) -> bool:
    return _UUID.fullmatch(value) is not None


def unlike(value: str) -> str:
    """Another value of the same form that nothing has."""
    if _SHORT.fullmatch(value):
        return uuid4().hex.upper()[: len(value)]
    if "@" in value:
        return f"nobody{uuid4().hex[:12]}@canary.example"
    made = str(uuid4())
    return _UUID.sub(made, value) if _UUID.search(value) else f"nobody{made[:13]}"


def aimed_attempts(
    routes: Iterable[Route[Any]], theirs: Ids, own: Ids | None, *, is_browser: bool = False
) -> Iterator[Attempt]:
    """Every route with every field of it set to every id of the victim. With `own`, all other ids
    are the caller's; without, all are the victim's."""
    for route in routes:
        fields = fields_of(route)
        if not fields:
            values = own or theirs
            for example in examples_of(route):
                yield Attempt(
                    route, route.method, None, values, example=example, is_browser=is_browser
                )
        for field in fields:
            if own is not None and field.kind == IDEMPOTENCY:
                continue  # a request of the caller's own
            values = own or theirs
            _known(theirs, field.kind, route)
            at = field.at if field.place == "body" else None
            for example in examples_of(route, at):
                for value in theirs[field.kind]:
                    yield Attempt(route, route.method, field, values, value, example, is_browser)


def other_verbs(routes: Sequence[Route[Any]], theirs: Ids) -> Iterator[Attempt]:
    """Every path with the verbs that it does not serve."""
    for path in dict.fromkeys(route.path for route in routes):
        served = {route.method: route for route in routes if route.path == path}
        known = served.get("GET", next(iter(served.values())))
        fields: list[Field | None] = [field for field in fields_of(known) if field.place == "path"]
        for verb in VERBS:
            if verb not in served:
                for field in fields or [None]:
                    for value in theirs[field.kind] if field else (None,):
                        yield Attempt(known, verb, field, theirs, value, examples_of(known)[0])
