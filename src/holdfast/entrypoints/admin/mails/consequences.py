"""Whether buyers get an e-mail about an action, in words, before the person confirms it."""

from typing import Any

from holdfast.domain.group.transitions import FactType
from holdfast.entrypoints.admin.display import redacted
from holdfast.ports.facts.deliveries import NOTIFIED_TYPES

# Another process may send them, with settings of its own.
IF_TURNED_ON = "if e-mails are turned on"


def buyer_told(row: Any, fact: FactType) -> str:
    """The buyer of a hold or an order."""
    is_wanted = fact is not FactType.HOLD_EXPIRED or row.organization.mail_when_expired
    if row.email is not None and is_wanted and fact in NOTIFIED_TYPES:
        return f"{redacted(row.email)} gets an e-mail, {IF_TURNED_ON}."
    return "The buyer gets no e-mail."


def buyers_told(who: str = "Buyers who gave an address") -> str:
    return f"{who} get an e-mail, {IF_TURNED_ON}."
