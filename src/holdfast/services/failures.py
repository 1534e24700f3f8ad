"""How a change outside the engine answers when the store fails."""

from holdfast.domain import refusals
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.store import Rejected, StoreError


def refusal_for(error: StoreError) -> Refusal:
    """A rejected change is rejected again, so a retry does not help."""
    is_final = isinstance(error, Rejected)
    return refusals.internal_error() if is_final else refusals.service_unavailable()
