"""Refuses changes by people who saw an older state of what they change."""

from datetime import UTC
from typing import Any

from holdfast.domain.refusal_codes import Refusal, RefusalCode


def state_of(record: Any) -> str:
    """Differs whenever somebody has changed the record. Pools have no time of their last change."""
    updated_at = getattr(record, "updated_at", None)
    return updated_at.astimezone(UTC).isoformat() if updated_at else f"{record.total} {record.name}"


def refuse_stale(record: Any, seen: str | None) -> Refusal | None:
    """`seen` is the state that the person saw; None if it does not matter."""
    if seen is None or seen == state_of(record):
        return None
    message = (
        "Somebody else has changed this in the meantime. Open the page again to see it as it is now"
    )
    return Refusal(RefusalCode.CATALOG_CHANGED, message)
