"""The route that forgets a person, its request and its answer."""

from functools import partial
from typing import Annotated, Any

from msgspec import Meta

from holdfast.domain.access.scopes import Scope
from holdfast.domain.forgetting import Forgotten
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.values import EmailAddress, InvalidValue
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.fields import Email
from holdfast.entrypoints.api.http.idempotency import idempotency_of
from holdfast.entrypoints.api.http.problems import FieldError, invalid
from holdfast.entrypoints.api.http.replies import AnyOutcome, render, reply_to
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.http.shapes import AnswerShape, RequestShape
from holdfast.services.forgetting import Eraser


class ForgetRequest(RequestShape, frozen=True):
    """The person to forget."""

    customer_email: Email


class ForgottenAnswer(AnswerShape, frozen=True, kw_only=True):
    """How many rows were erased. The rows themselves stay, so that totals still add up."""

    holds: Annotated[int, Meta(description="Ended holds.", examples=[3])]
    orders: Annotated[int, Meta(description="Orders.", examples=[1])]
    tickets: Annotated[int, Meta(description="Tickets with an attendee.", examples=[2])]
    facts: Annotated[int, Meta(description="Facts in the log.", examples=[3])]
    audit_entries: Annotated[int, Meta(description="Entries of the audit log.", examples=[7])]
    is_complete: Annotated[
        bool,
        Meta(description="False if there is more to erase, or the person has placed another hold."),
    ]


def forgotten_answer(outcome: AnyOutcome) -> object:
    assert isinstance(outcome, Forgotten)
    return ForgottenAnswer(**outcome.counts(), is_complete=outcome.is_complete)


async def forget_person(context: Context, call: Call, body: ForgetRequest) -> Reply:
    try:
        email = EmailAddress(body.customer_email)
    except InvalidValue as error:
        raise invalid([FieldError("customer_email", error.code, error.message)]) from None
    eraser = Eraser(
        context.forgetting,
        call.principal.organization_id,
        call.origin,
        idempotency_of(call, call.idempotency_key, body),
        partial(render, call, show=forgotten_answer),
    )
    answer = await context.large.run(call.principal.organization_id, eraser.forget, email)
    return reply_to(call, answer, forgotten_answer)


PRIVACY_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="POST",
        path="/api/forget",
        scope=Scope.PRIVACY_ERASE,
        summary="Erase a person's data",
        description="Erases the e-mail address, and the names, notes and metadata beside it, from "
        "ended holds, orders, tickets, facts and the audit log of your organization. Holds and "
        "orders keep their user id, or get a random one. Refused while the person has open holds: "
        "release them, or wait until they have expired. If `is_complete` is false, send it again. "
        "Repeating it does no harm.",
        returns="How much was erased.",
        handler=forget_person,
        body=ForgetRequest,
        answer=ForgottenAnswer,
        refusals=(ProblemCode.INVALID_EMAIL, RefusalCode.HOLDS_STILL_OPEN),
    ),
)
