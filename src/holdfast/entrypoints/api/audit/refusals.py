"""Refused requests that never reached the engine, for the audit log: who was refused what, and why.
Nothing that the caller sent is recorded, except ids, quantities, the cart and, as a hash, the
holder."""

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any
from uuid import UUID

import msgspec

from holdfast.domain.group.origin import Origin
from holdfast.domain.holds.hold import CART_TOKEN_LENGTH_MAX
from holdfast.domain.holds.placement import LINES_MAX, NOTHING_ASKED, Asked
from holdfast.domain.ids import ApiKeyId, HoldId, OrderId, SeatId, SessionId, TicketTypeId
from holdfast.domain.values import QUANTITY_MAX, EmailAddress, Holder, InvalidValue, JsonValue
from holdfast.entrypoints.api.access.networks import network_of
from holdfast.entrypoints.api.http.exchange import Call
from holdfast.ports.audit.attempts import AttemptJournal, FailedAttempt, Stranger
from holdfast.services.access.authentication import secret_hash

UNAUTHORIZED, NOT_FOUND, SERVER_ERROR = 401, 404, 500
_SCHEME = b"bearer "
# The ids of each kind that are recorded: a body can name thousands.
_NAMED_MAX = 10


class _Mentioned(msgspec.Struct):
    """What a body mentions, however wrong the rest of it is."""

    customer_email: Any = None
    user_id: Any = None
    session_id: Any = None
    ticket_type_id: Any = None
    quantity: Any = None
    seat_ids: Any = None
    lines: Any = None
    items: Any = None
    cart_token: Any = None


_decoder = msgspec.json.Decoder(_Mentioned)


def record_refusal(
    attempts: AttemptJournal,
    call: Call,
    status: int,
    code: str,
    details: Mapping[str, JsonValue],
) -> None:
    """Leaves out our own failures, which are logged, and reads that find nothing: clients poll."""
    is_read = call.method in {"GET", "HEAD"}
    if call.route_path is None or status >= SERVER_ERROR or (is_read and status == NOT_FOUND):
        return
    recorded = {"route": f"{call.method} {call.route_path}", "status": status, **details}
    # Routing fills in the principal of a caller whom it knows.
    if hasattr(call, "principal"):
        attempts.failed(_attempt(call, code, recorded))
    elif status == UNAUTHORIZED:
        network = network_of(call.origin.ip or "")
        attempts.unauthorized(
            Stranger(_sent_hash(call), call.origin, recorded, network, call.token)
        )


def _sent_hash(call: Call) -> bytes | None:
    authorization = call.headers.get(b"authorization", b"")
    if authorization[: len(_SCHEME)].lower() != _SCHEME:
        return None
    return secret_hash(authorization[len(_SCHEME) :].strip())


def _attempt(call: Call, code: str, details: dict[str, JsonValue]) -> FailedAttempt:
    origin: Origin = call.origin
    named = _named_in_path(call)
    details |= {name: str(id_) for name, id_ in named.items() if name in _IN_DETAILS}
    hold_id, seat_id, order_id = (named.get(f"{name}_id") for name in ("hold", "seat", "order"))
    catalog_id = next((named[name] for name in _CATALOG if name in named), None)
    key_id = named.get("key_id")
    return FailedAttempt(
        call.attempt or "request.refused",
        call.principal.organization_id,
        code,
        origin,
        None if hold_id is None else HoldId(hold_id),
        None if seat_id is None else SeatId(seat_id),
        catalog_id,
        None if key_id is None else ApiKeyId(key_id),
        _asked(call, named.get("session_id")),
        details,
        None if order_id is None else OrderId(order_id),
    )


_IN_DETAILS = ("checkout_id", "order_id")
_CATALOG = ("event_id", "pool_id", "ticket_type_id", "block_id")


def _named_in_path(call: Call) -> dict[str, UUID]:
    """The ids in the path, by the names that the route gives them."""
    assert call.route_path is not None
    pattern, named = call.route_path.split("/"), {}
    for part, segment in zip(pattern, call.segments, strict=False):
        if part.startswith("{"):
            id_ = _uuid(segment)
            if id_ is not None:
                named[part.strip("{}")] = id_
    return named


def _asked(call: Call, session_id: UUID | None) -> Asked:
    mentioned, holder = _mentioned(call.body), call.principal.holder
    if mentioned is None:
        if session_id is None and holder is None and not call.cart:
            return NOTHING_ASKED
        mentioned = _Mentioned()
    session_id = session_id or _uuid(mentioned.session_id)
    # A token names its holder, and a browser has no label for a cart: its caller must not put
    # refusals into another's history.
    is_browser = holder is not None
    lines = _lines(mentioned)
    types = filter(None, (_uuid(line.get("ticket_type_id")) for line in lines))
    return Asked(
        None if session_id is None else SessionId(session_id),
        tuple(dict.fromkeys(map(TicketTypeId, islice(types, _NAMED_MAX)))),
        tuple(map(SeatId, islice(_seats(lines), _NAMED_MAX))),
        _quantity(lines),
        call.cart or (None if is_browser else _cart(mentioned.cart_token)),
        holder or _holder(mentioned),
    )


def _lines(mentioned: _Mentioned) -> list[dict[str, Any]]:
    """The places that a body asks for, in its own fields and in its lines or items."""
    own = {name: getattr(mentioned, name) for name in ("ticket_type_id", "quantity", "seat_ids")}
    nested = (each for each in (mentioned.lines, mentioned.items) if isinstance(each, list))
    some = islice(chain.from_iterable(nested), LINES_MAX)
    return [own, *(line for line in some if isinstance(line, dict))]


def _seats(lines: list[dict[str, Any]]) -> Iterator[UUID]:
    for line in lines:
        seats = line.get("seat_ids")
        for each in seats[:_NAMED_MAX] if isinstance(seats, list) else ():
            id_ = _uuid(each)
            if id_ is not None:
                yield id_


def _quantity(lines: list[dict[str, Any]]) -> int | None:
    """None if no number of places was given that a hold could have."""
    asked = 0
    for line in lines:
        quantity, seats = line.get("quantity"), line.get("seat_ids")
        if type(quantity) is int and 0 < quantity <= QUANTITY_MAX:
            asked += quantity
        elif isinstance(seats, list):
            asked += len(seats)
    return asked or None


def _cart(label: object) -> str | None:
    if not isinstance(label, str) or len(label) > CART_TOKEN_LENGTH_MAX:
        return None
    return label if label and label.isprintable() else None


def _mentioned(body: bytes | None) -> _Mentioned | None:
    if not body:
        return None
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _holder(mentioned: _Mentioned) -> Holder | None:
    email, user_id = mentioned.customer_email, mentioned.user_id
    try:
        address = EmailAddress(email) if isinstance(email, str) else None
        return Holder(address, user_id if isinstance(user_id, str) else None)
    except InvalidValue:
        return None


def _uuid(text: object) -> UUID | None:
    try:
        return UUID(text) if isinstance(text, str) else None
    except ValueError:
        return None
