"""Examples of members for the OpenAPI document."""

from dataclasses import replace
from datetime import timedelta

from holdfast.domain.access.members import InvitedMember, Member
from holdfast.domain.access.roles import Role
from holdfast.domain.access.sessions import LIFETIME_SECONDS
from holdfast.entrypoints.api.members.answers import (
    MemberPage,
    SignedOutAnswer,
    added_answer,
    member_answer,
    session_answer,
)
from holdfast.entrypoints.api.members.requests import (
    AddMemberRequest,
    ChangeMemberRequest,
    SignInRequest,
)
from holdfast.entrypoints.api.openapi import example_values as sale
from holdfast.ports.members import OpenSession
from holdfast.services.access.sign_in import SignedInNow

_USERNAME = "ann@river.example"
_ann = Member(
    id=sale.MEMBER,
    created_at=sale.NOW,
    user_id=17,
    username=_USERNAME,
    role=Role.SUPPORT,
    is_active=True,
    is_invited=False,
    last_login_at=sale.NOW + timedelta(hours=3),
)
_new = replace(_ann, is_invited=True, last_login_at=None)
_session = OpenSession(
    sale.MEMBER_SESSION, _ann, sale.NOW, sale.NOW + timedelta(seconds=LIFETIME_SECONDS)
)

MEMBER_ANSWERS: sale.Answers = (
    member_answer(_ann),
    added_answer(InvitedMember(_new, "hi_Wk1x...")),
    MemberPage([member_answer(_ann)], has_more=False),
    session_answer(SignedInNow(_session, "hs_v2Lm...")),
    SignedOutAnswer(),
)
MEMBER_REQUESTS: sale.Requests = (
    (
        "somebody for the help desk",
        AddMemberRequest(username=_USERNAME, role=Role.SUPPORT, email=_USERNAME),
    ),
    ("a new manager", ChangeMemberRequest(role=Role.MANAGER)),
    (
        "a member signs in",
        SignInRequest(
            organization_id=sale.ORGANIZATION,
            username=_USERNAME,
            password="a-Long-Pass-2026",  # noqa: S106
            code="492039",
        ),
    ),
)
