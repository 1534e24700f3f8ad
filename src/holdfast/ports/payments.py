"""Payment checks. Somebody else takes the money; Holdfast only asks whether it was paid."""

from typing import Protocol
from uuid import UUID

from holdfast.domain.values import Money


class PaymentProvider(Protocol):
    @property
    def is_single_use(self) -> bool:
        """Whether a payment pays for only one order. Otherwise it may pay for several, and the
        payment's taker watches the total."""
        ...

    @property
    def is_verified(self) -> bool:
        """Whether `problem` finds out that nothing was paid. Otherwise the caller's word counts, so
        the caller must be a server."""
        ...

    def problem(self, reference: str | None, total: Money) -> str | None:
        """Why this payment does not cover the total, in words for the buyer; None if it does.
        Blocks for a bounded time; may raise PaymentUnavailable."""
        ...


class PaymentUnavailable(Exception):
    """The payment could not be checked. Nothing was changed; a retry may help."""


class DemoTill(Protocol):
    """Pretends to take money, for demos."""

    def take(self, amount: Money, card: str | None, nonce: UUID) -> str | None:
        """The payment's reference, the same for the same nonce; None if the card is declined."""
        ...
