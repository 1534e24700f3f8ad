"""The definition of a route."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Generic, TypeVar

import msgspec

from holdfast.domain.access.scopes import Scope
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.http.codes import Code, ProblemCode
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.parsing import BODY_BYTES_MAX

G = TypeVar("G", bound=msgspec.Struct)


@immutable(kw_only=True)
class Route(Generic[G]):
    """Without a `scope`, any credential will do; a public route needs none. The handler gets the
    body or the query. `not_found` refuses an unknown id in the path,
    `nested_not_found` the second one. `invalid` is the code of invalid fields without their own
    code. With `is_body_optional`, no body is an empty object. `also` are other success statuses and
    their meanings; `empty_answer` is the answer if nothing is left to show. `refusals` are those
    specific to this route."""

    method: str
    path: str
    scope: Scope | None
    is_public: bool = False
    summary: str
    description: str | None = None
    returns: str
    handler: Callable[[Context, Call, G], Awaitable[Reply]]
    body: type[G] | None = None
    query: type[G] | None = None
    is_body_optional: bool = False
    takes_csv: bool = False
    body_bytes_max: int = BODY_BYTES_MAX
    answer: type[msgspec.Struct]
    status: int = 200
    also: Mapping[int, str] = field(default_factory=dict)
    empty_answer: type[msgspec.Struct] | None = None
    not_found: Refusal | None = None
    nested_not_found: Refusal | None = None
    invalid: ProblemCode = ProblemCode.VALIDATION_ERROR
    has_etag: bool = False
    is_compressed: bool = False  # if the caller accepts it
    ends_hold: bool = False  # its example shows a hold that has ended
    is_for_holders: bool = False  # a holder token may call it, for its own holder
    attempt: str = "request.refused"  # the audit's name of a request that never reached the engine
    refusals: tuple[Code, ...] = ()
    is_unsafe: bool = field(init=False)  # changes something, so it takes an Idempotency-Key
    # Where its path has ids or a cart token: the numbers of these parts.
    names: tuple[int, ...] = field(init=False)
    is_of_cart: bool = field(init=False)

    def __post_init__(self) -> None:
        is_unsafe = self.method in {"POST", "PUT", "PATCH", "DELETE"}
        object.__setattr__(self, "is_unsafe", is_unsafe)
        parts = enumerate(self.path.split("/"))
        names = tuple(number for number, part in parts if part.startswith("{"))
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "is_of_cart", "/{cart_token}/" in self.path)
