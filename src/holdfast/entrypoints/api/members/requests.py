"""Requests about members and their sessions."""

from typing import Annotated

from msgspec import Meta

from holdfast.domain.access.members import USERNAME_LENGTH_MAX, USERNAME_PATTERN, USERNAME_RULE
from holdfast.domain.access.roles import MEANING_OF_ROLE, Role
from holdfast.domain.ids import OrganizationId
from holdfast.domain.values import EMAIL_LENGTH_MAX
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.fields import ruled
from holdfast.entrypoints.api.http.shapes import RequestShape

_Username = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=USERNAME_LENGTH_MAX,
        pattern=USERNAME_PATTERN,
        description="The name to log in with, usually an e-mail address.",
        examples=["ann@river.example"],
        extra={"message": USERNAME_RULE},
    ),
]
_Role = Annotated[
    Role,
    Meta(
        description="What the member may do: "
        + "; ".join(f"`{role.value}`: {MEANING_OF_ROLE[role]}" for role in Role),
        examples=["support"],
    ),
]


class AddMemberRequest(RequestShape, frozen=True):
    username: _Username
    role: _Role
    email: (
        Annotated[
            str,
            Meta(
                min_length=3,
                max_length=EMAIL_LENGTH_MAX,
                pattern=r"^[^@\s]+@[^@\s]+$",
                description="E-mail address of a new person.",
                examples=["ann@river.example"],
                extra=ruled(ProblemCode.INVALID_EMAIL, "Invalid email format"),
            ),
        ]
        | None
    ) = None


class ChangeMemberRequest(RequestShape, frozen=True):
    role: _Role


class SignInRequest(RequestShape, frozen=True):
    organization_id: OrganizationId
    username: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=USERNAME_LENGTH_MAX,
            description="The name to log in with.",
            examples=["ann@river.example"],
        ),
    ]
    password: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1024,
            description="The password, as in the admin pages.",
            examples=["a-Long-Pass-2026"],
        ),
    ]
    code: Annotated[
        str,
        Meta(
            max_length=40,
            description="The code of the authenticator app, or a backup code, if the person uses "
            "two-factor authentication.",
            examples=["492039"],
        ),
    ] = ""
