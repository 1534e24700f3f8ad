"""One structured line per hold that came, went or ran out of time."""

import structlog

from holdfast.domain.hold import Hold
from holdfast.domain.transitions import FactType

_log = structlog.get_logger("holdfast.holds")


def log_hold(fact: FactType, hold: Hold, request_id: str) -> None:
    """The holder's address appears in its redacted form only."""
    email = hold.holder.email
    _log.info(
        fact.value,
        organization_id=str(hold.organization_id),
        hold_id=str(hold.id),
        session_id=str(hold.session_id),
        quantity=hold.quantity,
        customer_email=email.redacted if email else None,
        request_id=request_id,
    )
