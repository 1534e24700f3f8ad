"""A pretend payment provider: no card is charged. A real shop asks its provider here."""

from typing import Any
from uuid import uuid4

from holdfast.entrypoints.drf.client import call_holdfast

CARD, DECLINED_CARD = "4242424242424242", "4000000000000002"
_NOT_FOUND = 404


def charge(amount: int, currency: str, card: str) -> str | None:
    """The reference of the payment; None if the card is declined."""
    body: dict[str, Any] = {"amount": amount, "currency": currency, "card": card}
    # Holdfast's demo accepts only payments from its own pretend provider.
    answer = call_holdfast("POST", "demo", "payments", body=body)
    if answer.is_success:
        return str(answer.data["payment_reference"])
    if answer.status == _NOT_FOUND and card != DECLINED_CARD:
        return f"pretend-{uuid4()}"
    return None


def refund(reference: str) -> None:
    """Nothing to do for a pretend payment. A real shop refunds it: nothing was sold."""
