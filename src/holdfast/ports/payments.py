"""Payments stay outside: somebody else takes the money. What we ask is whether it was taken."""

from typing import Protocol
from uuid import UUID

from holdfast.domain.values import Money


class PaymentProvider(Protocol):
    @property
    def is_single_use(self) -> bool:
        """Whether a payment pays for one order only. Otherwise whoever took it may pay for several,
        one by one, and minds the sum."""
        ...

    def problem(self, reference: str | None, total: Money) -> str | None:
        """Why a payment with this reference does not pay for this much, in words for the buyer;
        None when it does. It may block, within a bound of its own; it may raise
        PaymentUnavailable."""
        ...


class PaymentUnavailable(Exception):
    """Nobody knows whether it was paid. Nothing was changed; asking again may help."""


class DemoTill(Protocol):
    """Takes no money, only says that it did: for trying things out."""

    def take(self, amount: Money, card: str | None, nonce: UUID) -> str | None:
        """The reference of the payment, the same for the same nonce; None: the card is declined."""
        ...
