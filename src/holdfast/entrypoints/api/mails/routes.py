"""Routes of the texts of e-mails, and their handlers."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import UnsetType

from holdfast.domain.access.scopes import Scope
from holdfast.domain.mails.kinds import MAILS, MailKind
from holdfast.domain.mails.templates import MailTemplate, normalized
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.idempotency import idempotency_of
from holdfast.entrypoints.api.http.problems import FieldError, invalid
from holdfast.entrypoints.api.http.replies import AnyOutcome, render, reply_to, reply_to_reading
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.http.shapes import NoFields
from holdfast.entrypoints.api.lookups import look_up
from holdfast.entrypoints.api.mails.structs import (
    MailTextAnswer,
    MailTextRequest,
    MailTextsAnswer,
    mail_text_answer,
)
from holdfast.ports.mails.templates import MailText
from holdfast.services import reads
from holdfast.services.mails.templates import MailTextEditor

_PATH = "/api/organization/mails"
_FIELDS = {"subject": "subject", "body": "body_lines"}


async def list_mail_texts(context: Context, call: Call, _: NoFields) -> Reply:
    found = await look_up(context, call, reads.mail_texts, context.mail_templates)
    return reply_to_reading(call, found, _listed)


async def change_mail_text(context: Context, call: Call, body: MailTextRequest) -> Reply:
    template = _template(body)
    organization_id = call.principal.organization_id
    editor = MailTextEditor(
        context.mail_templates,
        organization_id,
        call.origin,
        idempotency_of(call, call.idempotency_key, body),
        partial(render, call, show=_shown),
    )
    answer = await context.blocking.run(organization_id, editor.put, body.mail, template)
    return reply_to(call, answer, _shown)


def _template(body: MailTextRequest) -> MailTemplate | None:
    """None for the built-in text. Raises a report of everything that is wrong."""
    subject, lines = body.subject, body.body_lines
    if isinstance(subject, UnsetType) and isinstance(lines, UnsetType):
        return None
    if isinstance(subject, UnsetType) or isinstance(lines, UnsetType):
        missing = "subject" if isinstance(subject, UnsetType) else "body_lines"
        message = "Send subject and body_lines together, or neither"
        raise invalid([FieldError(missing, "required", message)])
    template = normalized(subject, "\n".join(lines))
    errors = MAILS[body.mail].errors(template)
    if errors:
        raise invalid(
            [
                FieldError(_FIELDS[name], "invalid_value", message)
                for name, messages in errors.items()
                for message in messages
            ]
        )
    return template


def _listed(texts: Mapping[MailKind, MailText]) -> MailTextsAnswer:
    return MailTextsAnswer([mail_text_answer(text) for text in texts.values()])


def _shown(outcome: AnyOutcome) -> object:
    assert isinstance(outcome, MailText)
    return mail_text_answer(outcome)


MAIL_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="GET",
        path=_PATH,
        scope=Scope.SETTINGS_READ,
        summary="List the texts of your e-mails",
        returns="The text of every kind of e-mail.",
        handler=list_mail_texts,
        answer=MailTextsAnswer,
    ),
    Route(
        method="PUT",
        path=_PATH,
        scope=Scope.SETTINGS_WRITE,
        summary="Replace the text of an e-mail, or return to the built-in text",
        description="Placeholders are names in double braces, such as `{{ event }}`. Others than "
        "those of this kind of e-mail are refused. The text of a confirmation must contain "
        "`{{ ticket_list }}`.",
        returns="The text in force.",
        handler=change_mail_text,
        body=MailTextRequest,
        answer=MailTextAnswer,
    ),
)
