"""Refused requests that never reached the engine, for the audit log: who was refused what, and why.
Nothing that the caller sent is recorded, except ids, the cart of the path and, as a hash, the
holder."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec

from holdfast.domain.group.origin import Origin
from holdfast.domain.holds.placement import NOTHING_ASKED, Asked
from holdfast.domain.ids import ApiKeyId, HoldId, SeatId, SessionId, TicketTypeId
from holdfast.domain.values import EmailAddress, Holder, InvalidValue, JsonValue
from holdfast.entrypoints.api.http.exchange import Call
from holdfast.ports.audit.attempts import AttemptJournal, FailedAttempt, Stranger
from holdfast.services.access.authentication import secret_hash

UNAUTHORIZED, NOT_FOUND, SERVER_ERROR = 401, 404, 500
_SCHEME = b"bearer "


class _Mentioned(msgspec.Struct):
    """What a body mentions, however wrong the rest of it is."""

    customer_email: Any = None
    user_id: Any = None
    session_id: Any = None
    ticket_type_id: Any = None
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
        attempts.unauthorized(Stranger(_sent_hash(call), call.origin, recorded, call.token))


def _sent_hash(call: Call) -> bytes | None:
    authorization = call.headers.get(b"authorization", b"")
    if authorization[: len(_SCHEME)].lower() != _SCHEME:
        return None
    return secret_hash(authorization[len(_SCHEME) :].strip())


def _attempt(call: Call, code: str, details: dict[str, JsonValue]) -> FailedAttempt:
    origin: Origin = call.origin
    named = _named_in_path(call)
    details |= {name: str(id_) for name, id_ in named.items() if name == "checkout_id"}
    hold_id, seat_id = named.get("hold_id"), named.get("seat_id")
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
    )


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
    type_id = _uuid(mentioned.ticket_type_id)
    return Asked(
        None if session_id is None else SessionId(session_id),
        () if type_id is None else (TicketTypeId(type_id),),
        cart=call.cart or None,
        # A token names its holder; its caller must not put refusals into another's history.
        holder=holder or _holder(mentioned),
    )


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
