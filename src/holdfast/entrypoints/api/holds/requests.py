"""Translates requests about holds into those of the domain, or reports all their errors."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from holdfast.domain.access.reach import Reach
from holdfast.domain.holds.hold import NO_REMARKS, Remarks
from holdfast.domain.holds.placement import SEATS_PER_HOLD_MAX, Ask, SeatAsk
from holdfast.domain.ids import SeatId
from holdfast.domain.values import EmailAddress, Holder, InvalidValue, Quantity, metadata_of
from holdfast.entrypoints.api.holds.structs import (
    SECONDS_PER_MINUTE,
    AskedLine,
    ExtendHoldRequest,
    PlaceHoldRequest,
    RemarkedRequest,
)
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.problems import FieldError, invalid
from holdfast.entrypoints.api.http.shapes import PageQuery, filters_of
from holdfast.entrypoints.api.seats.structs import ReserveRequest
from holdfast.ports.access import Principal

Asked: TypeAlias = AskedLine | PlaceHoldRequest  # a hold of one line has the line's fields itself
_ASK_FIELDS = AskedLine.__struct_fields__
# Of the ids of holds that replace others. Nobody else may take one.
DERIVED_VERSION = 5
_OF_QUANTITIES = ("quantity", "block_id", "accessible", "together", "at_least")


def holder_and_asks(
    body: PlaceHoldRequest, own: Holder | None
) -> tuple[Holder, tuple[Ask | SeatAsk, ...]]:
    """`own` is the holder of the caller's token."""
    errors: list[FieldError] = []
    holder = own or read_holder(body.customer_email, body.user_id, errors)
    if body.lines is None and body.seat_ids is None:
        asked = ask_of("", body, errors)
        asks: tuple[Ask | SeatAsk, ...] = () if asked is None else (asked,)
    else:
        asks = _asks(body, errors)
    if body.hold_id is not None and body.hold_id.version == DERIVED_VERSION:
        message = "Holdfast derives ids of version 5 itself. Use a UUID of version 4 or 7"
        errors.append(FieldError("hold_id", "invalid_value", message))
    if holder is None or errors:
        raise invalid(errors)
    return holder, asks


def reservation_of(body: ReserveRequest, caller: Principal) -> tuple[Holder, Remarks]:
    """A member who names nobody reserves for themselves."""
    own, user_id = caller.holder, body.user_id
    if caller.member is not None and body.customer_email is None and user_id is None:
        user_id = caller.actor  # never one of the platform's own ids
    holder = own or holder_of(body.customer_email, user_id)
    return holder, remarks_of(body, body.cart_token, metadata=body.metadata)


def extension_of(body: ExtendHoldRequest) -> tuple[int, Holder | None]:
    """The seconds, and the holder whose hold it must be, if the request names one."""
    if body.minutes is not None and body.seconds is not None:
        message = "Give minutes or seconds, not both"
        raise invalid([FieldError("seconds", "conflicting_fields", message)])
    seconds = body.seconds
    if body.minutes is not None:
        seconds = body.minutes * SECONDS_PER_MINUTE
    if seconds is None:
        raise invalid([FieldError("minutes", "required", "Give minutes or seconds")])
    is_anybody = body.customer_email is None and body.user_id is None
    holder = None if is_anybody else holder_of(body.customer_email, body.user_id)
    return seconds, holder


def holder_of(customer_email: str | None, user_id: str | None) -> Holder:
    errors: list[FieldError] = []
    holder = read_holder(customer_email, user_id, errors)
    if holder is None:
        raise invalid(errors)
    return holder


def holder_filters(query: PageQuery) -> dict[str, Any]:
    """The filters of a list that has holders and hold references."""
    only = filters_of(query)
    if "reference" in only:
        # Read out over the phone, so it may come in any case.
        only["reference"] = only["reference"].upper()
    if "customer_email" in only:
        try:
            only["email"] = EmailAddress(only.pop("customer_email"))
        except InvalidValue as error:
            raise invalid([FieldError("customer_email", error.code, error.message)]) from None
    return only


def own_filters(query: PageQuery, reach: Reach | None) -> dict[str, Any] | None:
    """The same, for a token of its own part of the list. None if the two exclude each other."""
    only = holder_filters(query)
    if reach is None:
        return only
    for name, own in (("event_id", reach.event_id), ("session_id", reach.session_id)):
        if own is not None and only.setdefault(name, own) != own:
            return None
    if reach.holder.user_id is not None:
        return only | {"user_id": reach.holder.user_id}
    return only | {"email": reach.holder.email, "is_without_user": True}


def refuse_doubled(seat_ids: Sequence[SeatId]) -> None:
    errors = list(_doubled([("", seat_ids)]))
    if errors:
        raise invalid(errors)


def remarks_of(
    body: RemarkedRequest,
    cart_token: str | None,
    notes: str | None = None,
    metadata: dict[str, str] | None = None,
) -> Remarks:
    if body.source is None and cart_token is None and notes is None and not metadata:
        return NO_REMARKS
    return Remarks(body.source or NO_REMARKS.source, cart_token, notes, metadata_of(metadata))


def read_holder(
    customer_email: str | None, user_id: str | None, errors: list[FieldError]
) -> Holder | None:
    field = "customer_email"
    try:
        email = None if customer_email is None else EmailAddress(customer_email)
        field = "customer_email" if user_id is None else "user_id"
        return Holder(email, user_id)
    except InvalidValue as error:
        errors.append(FieldError(field, error.code, error.message))
        return None


def _asks(body: PlaceHoldRequest, errors: list[FieldError]) -> tuple[Ask | SeatAsk, ...]:
    if body.lines is None:
        asked: list[tuple[str, Asked]] = [("", body)]
    else:
        asked = [(f"lines[{position}].", line) for position, line in enumerate(body.lines)]
        if any(getattr(body, field) is not None for field in _ASK_FIELDS):
            message = "Give either ticket_type_id and quantity, or seat_ids, or lines"
            errors.append(FieldError("lines", "conflicting_fields", message))
    asks = [ask_of(path, line, errors) for path, line in asked]
    if any(line.seat_ids is not None for _, line in asked):
        errors.extend(errors_of_seats("lines", asked))
    return tuple(ask for ask in asks if ask is not None)


def ask_of(path: str, line: Asked, errors: list[FieldError]) -> Ask | SeatAsk | None:
    """`path` is the path of the line in the request, with a trailing dot."""
    if line.seat_ids is not None:
        return _seat_ask(path, line, line.seat_ids, errors)
    if line.ticket_type_id is None or line.quantity is None:
        errors.extend(
            FieldError(path + field, "required", "This field is required")
            for field in ("ticket_type_id", "quantity")
            if getattr(line, field) is None
        )
        return None
    accessible = line.accessible or 0
    if accessible > line.quantity:
        message = "accessible must not exceed quantity"
        errors.append(FieldError(f"{path}accessible", "invalid_value", message))
    if line.at_least is not None and line.at_least > line.quantity:
        message = "Must be a whole number from 1 to quantity"
        errors.append(FieldError(f"{path}at_least", "invalid_value", message))
        return None
    return Ask(
        line.ticket_type_id,
        Quantity(line.quantity),
        line.unit_price,
        line.block_id,
        accessible,
        bool(line.together),
        line.at_least,
    )


def _seat_ask(path: str, line: Asked, seat_ids: list[SeatId], errors: list[FieldError]) -> SeatAsk:
    for field in _OF_QUANTITIES:
        if getattr(line, field) is not None:
            message = f"Don't combine {field} with seat_ids"
            errors.append(FieldError(path + field, "conflicting_fields", message))
    return SeatAsk(tuple(seat_ids), line.ticket_type_id, line.unit_price)


def errors_of_seats(whole: str, asked: Sequence[tuple[str, Asked]]) -> Iterator[FieldError]:
    """`whole` is the field that contains all lines."""
    named = [(path, line.seat_ids) for path, line in asked if line.seat_ids is not None]
    yield from _doubled(named)
    if sum(len(seat_ids) for _, seat_ids in named) > SEATS_PER_HOLD_MAX:
        message = f"A hold has at most {SEATS_PER_HOLD_MAX} seats"
        yield FieldError(whole, ProblemCode.INVALID_LINES.value, message)


def _doubled(named: Sequence[tuple[str, Sequence[SeatId]]]) -> Iterator[FieldError]:
    seen: set[SeatId] = set()
    for path, seat_ids in named:
        for position, seat_id in enumerate(seat_ids):
            if seat_id in seen:
                field = f"{path}seat_ids[{position}]"
                yield FieldError(field, "duplicate", "This seat is listed twice")
            seen.add(seat_id)
