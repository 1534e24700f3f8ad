"""Examples of e-mail texts for the OpenAPI document."""

from holdfast.domain.mails.kinds import MailKind
from holdfast.domain.mails.templates import MailTemplate
from holdfast.entrypoints.api.mails.structs import (
    MailTextRequest,
    MailTextsAnswer,
    mail_text_answer,
)
from holdfast.entrypoints.api.openapi import example_values as sale
from holdfast.ports.mails.templates import MailText, StoredTemplate

_OWN = MailTemplate("See you at {{ event }}", "Thank you for your order.\n\n{{ ticket_list }}")
_text = mail_text_answer(MailText(MailKind.CONFIRMATION, StoredTemplate(_OWN, 1, sale.NOW)))

MAIL_ANSWERS: sale.Answers = (_text, MailTextsAnswer([_text]))
MAIL_REQUESTS: sale.Requests = (
    ("your own text", MailTextRequest(MailKind.CONFIRMATION, _OWN.subject, _OWN.body.split("\n"))),
    ("the built-in text", MailTextRequest(MailKind.WARNING)),
)
