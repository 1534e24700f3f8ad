"""Members and their sessions as answers."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.access.members import InvitedMember, Member
from holdfast.domain.access.roles import SCOPES_OF_ROLE
from holdfast.domain.access.scopes import Scope
from holdfast.domain.access.sessions import IDLE_SECONDS
from holdfast.domain.ids import MemberId
from holdfast.entrypoints.api.http.shapes import (
    AnswerShape,
    PageAnswer,
    utc,
    utc_or_unset,
)
from holdfast.services.access.sign_in import SignedInNow

RoleName = Annotated[
    Literal["owner", "manager", "support", "viewer"],
    Meta(description="What the member may do.", examples=["support"]),
]


class MemberAnswer(AnswerShape, frozen=True, kw_only=True):
    member_id: MemberId
    username: Annotated[
        str, Meta(description="The name to log in with.", examples=["ann@river.example"])
    ]
    role: RoleName
    status: Annotated[
        Literal["active", "invited", "inactive"],
        Meta(
            description="Someone who is invited has no password yet. An inactive account cannot "
            "log in."
        ),
    ]
    created_at: datetime
    last_login_at: (
        Annotated[datetime, Meta(description="The last log-in, wherever it was.")] | UnsetType
    ) = UNSET


class AddedMemberAnswer(MemberAnswer, frozen=True, kw_only=True):
    invitation_path: (
        Annotated[
            str,
            Meta(
                description="Path of the page where a new person chooses a password, once, within "
                "7 days. Send it to that person only: the first to open it gets the account. No "
                "other call returns it.",
                examples=["/admin/invitation/hi_Wk1x..."],
            ),
        ]
        | UnsetType
    ) = UNSET


class MemberPage(PageAnswer[MemberAnswer], frozen=True):
    """A page of members."""


class MemberSessionAnswer(AnswerShape, frozen=True, kw_only=True):
    session_token: Annotated[
        str,
        Meta(
            description="Send it as `Authorization: Bearer`. No other call returns it.",
            examples=["hs_v2Lm..."],
        ),
    ]
    member: MemberAnswer
    scopes: Annotated[
        list[str], Meta(description="What the session may do now.", examples=[["holds:read"]])
    ]
    created_at: datetime
    expires_at: Annotated[datetime, Meta(description="It ends at this time at the latest.")]
    idle_seconds: Annotated[
        int, Meta(description="It ends after this time without a call.", examples=[IDLE_SECONDS])
    ]


class SignedOutAnswer(AnswerShape, frozen=True):
    signed_out: Annotated[bool, Meta(description="Always true: the session has ended.")] = True


def member_answer(found: Member) -> MemberAnswer:
    return MemberAnswer(**_fields(found))


def added_answer(found: Member | InvitedMember) -> AddedMemberAnswer:
    if isinstance(found, InvitedMember):
        path = f"/admin/invitation/{found.invitation}/"
        return AddedMemberAnswer(**_fields(found.member), invitation_path=path)
    return AddedMemberAnswer(**_fields(found))


def session_answer(found: SignedInNow) -> MemberSessionAnswer:
    session = found.session
    scopes = SCOPES_OF_ROLE[session.member.role]
    return MemberSessionAnswer(
        session_token=found.secret,
        member=member_answer(session.member),
        scopes=[scope.value for scope in Scope if scope in scopes],
        created_at=utc(session.created_at),
        expires_at=utc(session.ends_at),
        idle_seconds=IDLE_SECONDS,
    )


def _fields(member: Member) -> dict[str, Any]:
    status = "invited" if member.is_invited else "active"
    return {
        "member_id": member.id,
        "username": member.username,
        "role": member.role.value,
        "status": status if member.is_active else "inactive",
        "created_at": utc(member.created_at),
        "last_login_at": utc_or_unset(member.last_login_at),
    }
