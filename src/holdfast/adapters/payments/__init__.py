"""Payment providers, which check that a hold was paid for."""

from holdfast.adapters.payments.demo import DemoPayments
from holdfast.adapters.payments.trusted import TrustingPayments

__all__ = ["DemoPayments", "TrustingPayments"]
