"""Whether it was paid: somebody else takes the money."""

from holdfast.adapters.payments.demo import DemoPayments
from holdfast.adapters.payments.trusting import TrustingPayments

__all__ = ["DemoPayments", "TrustingPayments"]
