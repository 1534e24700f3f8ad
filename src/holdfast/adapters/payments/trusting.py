"""Believing the platform: who has a secret key and says that it was paid, is believed."""

from holdfast.domain.values import Money


class TrustingPayments:
    """Implements PaymentProvider."""

    is_single_use = False

    def problem(self, reference: str | None, total: Money) -> str | None:
        return None
