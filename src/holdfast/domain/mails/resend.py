"""Which e-mail a member of staff can send to a buyer again, and how often."""

from datetime import datetime
from uuid import UUID

from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId, OrderId
from holdfast.domain.immutable import immutable
from holdfast.domain.mails.kinds import MailKind
from holdfast.domain.refusal_codes import Refusal, RefusalCode

# With less time left, a mail that asks for payment would arrive too late.
PAYABLE_SECONDS_MIN = 120
RESENDS_MAX = 3
RESENDS_SECONDS = 3_600


@immutable
class MailRequest:
    """A request to send the mail about a hold, or about the order that it became, again."""

    id: UUID
    kind: MailKind
    hold_id: HoldId
    order_id: OrderId | None = None


def is_payable(hold: Hold, now: datetime) -> bool:
    """Whether a buyer who reads a mail now can still pay."""
    return hold.is_active(now) and hold.remaining_seconds(now) >= PAYABLE_SECONDS_MIN


def had_places(hold: Hold) -> bool:
    """False if it left the waitlist before its turn."""
    return hold.held_at is not None


def mail_about(hold: Hold, now: datetime) -> MailKind | Refusal:
    """The mail that tells the buyer about the current state of the hold."""
    if hold.holder.email is None:
        return _refused("The buyer has no e-mail address.")
    if not hold.holder.email.is_readable:
        return _refused("The buyer's e-mail address is encrypted with another secret.")
    if hold.is_converted():
        return MailKind.CONFIRMATION
    if hold.is_active(now):
        if not is_payable(hold, now):
            return _refused("Less than two minutes are left to pay: an e-mail would come too late.")
        # A hold that never waited got its places when it was placed.
        waited = hold.held_at is not None and hold.held_at > hold.created_at
        return MailKind.PROMOTION if waited else MailKind.WARNING
    if hold.is_expired(now) and had_places(hold):
        return MailKind.EXPIRED
    return _refused("There is no e-mail about a hold that is cancelled or on the waitlist.")


def too_many_resends() -> Refusal:
    message = (
        f"{RESENDS_MAX} e-mails about this hold were sent again in the last hour. "
        "Wait, or ask the buyer to check their spam folder."
    )
    return Refusal(RefusalCode.RATE_LIMIT_EXCEEDED, message)


def nothing_to_confirm() -> Refusal:
    return _refused("All tickets of this order are cancelled: there is no confirmation to send.")


def has_changed() -> Refusal:
    message = "Somebody else has changed this hold meanwhile. Check which e-mail will be sent."
    return Refusal(RefusalCode.INVALID_HOLD_STATE, message)


def paid_late() -> Refusal:
    return _refused(
        "This hold was paid for after its end, and another hold replaces it. Resend from there."
    )


def _refused(message: str) -> Refusal:
    return Refusal(RefusalCode.INVALID_HOLD_STATE, message)
