"""Which mail can be sent again."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from holdfast.domain.holds.hold import Hold, HoldStatus, Line
from holdfast.domain.ids import HoldId, OrganizationId, SessionId, TicketTypeId
from holdfast.domain.mails.kinds import MailKind
from holdfast.domain.mails.resend import PAYABLE_SECONDS_MIN, is_payable, mail_about
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import EmailAddress, Holder

NOW = datetime(2026, 11, 16, 19, 0, 0, tzinfo=UTC)
HOLD = Hold(
    organization_id=OrganizationId(uuid4()),
    id=HoldId(uuid4()),
    session_id=SessionId(uuid4()),
    reference="HF-7K2M",
    holder=Holder(EmailAddress("buyer@example.com")),
    lines=(Line(TicketTypeId(uuid4()), 2, 1250, ()),),
    currency="EUR",
    status=HoldStatus.ACTIVE,
    version=1,
    created_at=NOW,
    updated_at=NOW,
    held_at=NOW,
    expires_at=NOW + timedelta(minutes=10),
)
UNTIL = HOLD.expires_at


@pytest.mark.parametrize(
    ("changes", "now", "kind"),
    [
        ({}, NOW, MailKind.WARNING),
        ({"held_at": NOW + timedelta(seconds=1)}, NOW, MailKind.PROMOTION),
        ({"status": HoldStatus.CONVERTED}, NOW, MailKind.CONFIRMATION),
        ({"status": HoldStatus.EXPIRED}, NOW, MailKind.EXPIRED),
        ({}, UNTIL, MailKind.EXPIRED),
    ],
)
def test_the_mail_is_about_the_state_of_the_hold(
    changes: dict[str, object], now: datetime, kind: MailKind
) -> None:
    assert mail_about(replace(HOLD, **changes), now) is kind  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"holder": Holder(user_id="user-1")}, "no e-mail address"),
        ({"status": HoldStatus.CANCELLED}, "cancelled or on the waitlist"),
        ({"status": HoldStatus.WAITING, "held_at": None}, "cancelled or on the waitlist"),
        ({"status": HoldStatus.EXPIRED, "held_at": None}, "cancelled or on the waitlist"),
    ],
)
def test_otherwise_it_says_why_there_is_none(changes: dict[str, object], words: str) -> None:
    refused = mail_about(replace(HOLD, **changes), NOW)  # type: ignore[arg-type]
    assert isinstance(refused, Refusal)
    assert words in refused.message


@pytest.mark.parametrize(
    ("left", "is_sent"),
    [
        (timedelta(seconds=PAYABLE_SECONDS_MIN, microseconds=1), True),
        (timedelta(seconds=PAYABLE_SECONDS_MIN), True),
        (timedelta(seconds=PAYABLE_SECONDS_MIN, microseconds=-1), False),
        (timedelta(0), False),
    ],
)
def test_a_mail_that_asks_for_payment_needs_two_minutes(left: timedelta, is_sent: bool) -> None:
    assert PAYABLE_SECONDS_MIN == 120
    assert is_payable(HOLD, UNTIL - left) is is_sent
    assert (mail_about(HOLD, UNTIL - left) is MailKind.WARNING) is is_sent
