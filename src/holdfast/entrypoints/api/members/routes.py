"""Routes of members, and their handlers."""

from collections.abc import Callable
from functools import partial
from typing import Any, Concatenate, ParamSpec

from msgspec import Struct

from holdfast.domain import refusals
from holdfast.domain.access.members import Grantor, InvitedMember, Member, normal_username
from holdfast.domain.access.scopes import Scope
from holdfast.domain.ids import MemberId
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.values import InvalidValue
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.cursors import page_request
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.idempotency import idempotency_of
from holdfast.entrypoints.api.http.problems import FieldError, invalid
from holdfast.entrypoints.api.http.replies import (
    AnyOutcome,
    render,
    reply_to,
    reply_to_listing,
    reply_to_reading,
)
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.http.shapes import NoFields, PageQuery
from holdfast.entrypoints.api.lookups import look_up
from holdfast.entrypoints.api.members.answers import (
    AddedMemberAnswer,
    MemberAnswer,
    MemberPage,
    MemberSessionAnswer,
    SignedOutAnswer,
    added_answer,
    member_answer,
)
from holdfast.entrypoints.api.members.requests import (
    AddMemberRequest,
    ChangeMemberRequest,
    SignInRequest,
)
from holdfast.entrypoints.api.members.sessions import sign_in, sign_out
from holdfast.services import reads
from holdfast.services.access.members import MemberAnswered, MemberRoll

P = ParamSpec("P")
_C = RefusalCode
_PATH = "/api/members/{member_id}"


async def list_members(context: Context, call: Call, query: PageQuery) -> Reply:
    found = await look_up(context, call, reads.members, context.members, page_request(query))
    return reply_to_listing(call, found, member_answer)


async def get_member(context: Context, call: Call, _: NoFields) -> Reply:
    found = await look_up(context, call, reads.member, context.members, MemberId(call.path_id))
    return reply_to_reading(call, found, member_answer)


async def add_member(context: Context, call: Call, body: AddMemberRequest) -> Reply:
    try:
        username = normal_username(body.username)
    except InvalidValue as error:
        raise invalid([FieldError("username", "invalid_value", error.message)]) from None
    return await _change(
        context, call, body, _added, MemberRoll.add, username, body.email, body.role
    )


async def change_member(context: Context, call: Call, body: ChangeMemberRequest) -> Reply:
    member_id = MemberId(call.path_id)
    return await _change(context, call, body, _shown, MemberRoll.change_role, member_id, body.role)


async def remove_member(context: Context, call: Call, body: NoFields) -> Reply:
    return await _change(context, call, body, _shown, MemberRoll.remove, MemberId(call.path_id))


async def _change(
    context: Context,
    call: Call,
    body: Struct,
    show: Callable[[AnyOutcome], object],
    change: Callable[Concatenate[MemberRoll, P], MemberAnswered],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Reply:
    principal = call.principal
    roll = MemberRoll(
        context.members,
        principal.organization_id,
        Grantor(principal.scopes),
        call.origin,
        idempotency_of(call, call.idempotency_key, body),
        partial(render, call, show=show),
    )
    answer = await context.blocking.run(principal.organization_id, change, roll, *args, **kwargs)
    return reply_to(call, answer, show)


def _shown(outcome: AnyOutcome) -> object:
    assert isinstance(outcome, Member)
    return member_answer(outcome)


def _added(outcome: AnyOutcome) -> object:
    assert isinstance(outcome, Member | InvitedMember)
    return added_answer(outcome)


_CHANGING = (_C.SCOPE_NOT_HELD, _C.LAST_OWNER)

MEMBER_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="GET",
        path="/api/members",
        scope=Scope.MEMBERS_READ,
        summary="List the members of your organization, newest first",
        returns="A page of members.",
        handler=list_members,
        query=PageQuery,
        answer=MemberPage,
    ),
    Route(
        method="POST",
        path="/api/members",
        scope=Scope.MEMBERS_WRITE,
        summary="Add a member",
        description="Creates an account if nobody has this username. You can give only roles whose "
        "scopes you have yourself.",
        returns="The member. `invitation_path` is set if they have to choose a password.",
        handler=add_member,
        body=AddMemberRequest,
        answer=AddedMemberAnswer,
        status=201,
        refusals=(*(_C.ALREADY_MEMBER, _C.USERNAME_TAKEN, _C.SCOPE_NOT_HELD, _C.TOO_MANY_MEMBERS),),
    ),
    Route(
        method="GET",
        path=_PATH,
        scope=Scope.MEMBERS_READ,
        summary="Read a member",
        returns="The member.",
        handler=get_member,
        answer=MemberAnswer,
        not_found=refusals.member_not_found(),
    ),
    Route(
        method="PATCH",
        path=_PATH,
        scope=Scope.MEMBERS_WRITE,
        summary="Change the role of a member",
        description="It takes effect at once, also for sessions that are open.",
        returns="The changed member.",
        handler=change_member,
        body=ChangeMemberRequest,
        answer=MemberAnswer,
        not_found=refusals.member_not_found(),
        refusals=_CHANGING,
    ),
    Route(
        method="DELETE",
        path=_PATH,
        scope=Scope.MEMBERS_WRITE,
        summary="Remove a member",
        description="Their sessions end at once. The account itself stays.",
        returns="The removed member.",
        handler=remove_member,
        answer=MemberAnswer,
        not_found=refusals.member_not_found(),
        refusals=_CHANGING,
    ),
    Route(
        method="POST",
        path="/api/member-sessions",
        scope=None,
        is_public=True,
        summary="Sign in as a member",
        description="Needs no key. The session can do what the member's role allows, on one side "
        "of the organization. It ends after 30 minutes without a call, after 8 hours, when the "
        "member signs out, is removed or deactivated, or gets a new password. Too many wrong "
        "passwords lock the name out from this address, here and in the admin pages.",
        returns="The session, with its token.",
        handler=sign_in,
        body=SignInRequest,
        answer=MemberSessionAnswer,
        status=201,
        refusals=(ProblemCode.TWO_FACTOR_REQUIRED,),
    ),
    Route(
        method="DELETE",
        path="/api/member-sessions/current",
        scope=None,
        summary="Sign out",
        description="Ends the session that is used for this call.",
        returns="The session has ended.",
        handler=sign_out,
        answer=SignedOutAnswer,
        refusals=(ProblemCode.NOT_FOUND,),
    ),
)
