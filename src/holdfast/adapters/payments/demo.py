"""A provider for demos, which takes no money and stores nothing. A reference contains the amount
and is signed, so every process with the secret recognizes a forged one."""

import hmac
import re
from hashlib import sha256
from uuid import UUID

from holdfast.domain.values import Money

DECLINED_CARD_ENDING = "0002"

_REFERENCE = re.compile(r"(demo_(\d{1,19})_([A-Z]{3})_[0-9a-f]{32})_([0-9a-f]{32})", re.ASCII)


class DemoPayments:
    """Implements PaymentProvider and DemoTill."""

    is_single_use = True
    is_verified = True

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    def take(self, amount: Money, card: str | None, nonce: UUID) -> str | None:
        if card is not None and card.endswith(DECLINED_CARD_ENDING):
            return None
        paid = f"demo_{amount.minor}_{amount.currency}_{nonce.hex}"
        return f"{paid}_{self._signature(paid)}"

    def problem(self, reference: str | None, total: Money) -> str | None:
        if total.minor == 0:
            return None
        if reference is None:
            return "payment_reference is missing"
        found = _REFERENCE.fullmatch(reference)
        if found is None:
            return "unknown payment_reference"
        paid, minor, currency, signature = found.groups()
        if not hmac.compare_digest(signature, self._signature(paid)):
            return "unknown payment_reference"
        if (int(minor), currency) != (total.minor, total.currency):
            return "it is not the amount that is due"
        return None

    def _signature(self, paid: str) -> str:
        return hmac.new(self._secret, b"demo payment " + paid.encode(), sha256).hexdigest()[:32]
