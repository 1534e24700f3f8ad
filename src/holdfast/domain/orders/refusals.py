"""The refusals of cancellations and refunds: order_changed, order_already_cancelled,
ticket_already_void, ticket_not_void, already_refunded and invalid_ticket."""

from collections.abc import Iterable, Sequence

from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.refusal_codes import RefusalCode as Code
from holdfast.domain.values import JsonValue


def order_changed(order_id: str, version: int) -> Refusal:
    message = "Somebody else has changed this order meanwhile. Read it again"
    return Refusal(Code.ORDER_CHANGED, message, {"order_id": order_id, "version": version})


def order_already_cancelled(order_id: str) -> Refusal:
    message = "This order is already cancelled"
    return Refusal(Code.ORDER_ALREADY_CANCELLED, message, {"order_id": order_id})


def ticket_already_void(order_id: str, ticket_ids: Sequence[str]) -> Refusal:
    message = "Some of these tickets are already void. Nothing was cancelled"
    details: dict[str, JsonValue] = {"order_id": order_id, "ticket_ids": list(ticket_ids)}
    return Refusal(Code.TICKET_ALREADY_VOID, message, details)


def ticket_not_void(order_id: str, ticket_ids: Sequence[str]) -> Refusal:
    """`ticket_ids` are the valid ones among those named."""
    message = "Only void tickets can be refunded: cancel them first. Nothing was recorded"
    details: dict[str, JsonValue] = {"order_id": order_id, "ticket_ids": list(ticket_ids)}
    return Refusal(Code.TICKET_NOT_VOID, message, details)


def already_refunded(order_id: str, ticket_ids: Sequence[str]) -> Refusal:
    """`ticket_ids` are those among the named that have another reference."""
    message = "The void tickets have another refund reference already. Nothing was recorded"
    details: dict[str, JsonValue] = {"order_id": order_id, "ticket_ids": list(ticket_ids)}
    return Refusal(Code.ALREADY_REFUNDED, message, details)


def invalid_ticket(order_id: str, positions: Iterable[int]) -> Refusal:
    """`positions` are those of tickets that are not in the order."""
    message = "Ticket not found in this order"
    errors: list[JsonValue] = [
        {"field": f"ticket_ids[{position}]", "code": "invalid_ticket", "message": message}
        for position in positions
    ]
    details: dict[str, JsonValue] = {"order_id": order_id, "errors": errors}
    return Refusal(Code.INVALID_TICKET, message, details)
