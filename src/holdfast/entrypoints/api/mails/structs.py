"""The texts of e-mails in requests and answers."""

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.mails.kinds import MAILS, MailKind
from holdfast.domain.mails.templates import BODY_LENGTH_MAX, SUBJECT_LENGTH_MAX
from holdfast.entrypoints.api.http.fields import Moment
from holdfast.entrypoints.api.http.shapes import AnswerShape, RequestShape, utc
from holdfast.ports.mails.templates import MailText

Kind: TypeAlias = Annotated[MailKind, Meta(description="The kind of e-mail.")]
Subject: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=SUBJECT_LENGTH_MAX,
        description="One line with placeholders.",
        examples=["Your tickets for {{ event }}"],
    ),
]
# Requests have no control characters, line breaks included.
BodyLines: TypeAlias = Annotated[
    list[Annotated[str, Meta(max_length=BODY_LENGTH_MAX)]],
    Meta(
        min_length=1,
        max_length=BODY_LENGTH_MAX,
        description="The lines of the body: plain text with placeholders.",
        examples=[["Thank you.", "", "{{ ticket_list }}"]],
    ),
]


class MailTextRequest(RequestShape, frozen=True):
    """Without `subject` and `body_lines`, the built-in text applies again."""

    mail: Kind
    subject: Subject | UnsetType = UNSET
    body_lines: BodyLines | UnsetType = UNSET


class MailTextAnswer(AnswerShape, frozen=True, kw_only=True):
    """The text in force for one kind of e-mail."""

    mail: Kind
    subject: Subject
    body_lines: BodyLines
    is_built_in: Annotated[bool, Meta(description="Whether it is the built-in text.")]
    placeholders: Annotated[
        list[str], Meta(description="The names that you can use in double braces.")
    ]
    updated_at: Moment | UnsetType = UNSET


class MailTextsAnswer(AnswerShape, frozen=True):
    """The text of every kind of e-mail."""

    data: list[MailTextAnswer]


def mail_text_answer(text: MailText) -> MailTextAnswer:
    stored = text.stored
    return MailTextAnswer(
        mail=text.kind,
        subject=text.template.subject,
        body_lines=text.template.body.split("\n"),
        is_built_in=stored is None,
        placeholders=list(MAILS[text.kind].placeholders),
        updated_at=UNSET if stored is None else utc(stored.updated_at),
    )
