"""Routes of the caller's organization, and their handlers."""

from functools import partial
from typing import Any

from msgspec import UNSET

from holdfast.domain.access.scopes import Scope
from holdfast.domain.organizations import SETTINGS, Organization, SettingValue, check_setting
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.values import InvalidValue
from holdfast.entrypoints.api.catalog.handlers import (
    IMPORT_SECONDS_MAX,
    policy_change,
    refuse_empty,
)
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.idempotency import idempotency_of
from holdfast.entrypoints.api.http.problems import FieldError, invalid
from holdfast.entrypoints.api.http.replies import AnyOutcome, render, reply_to, reply_to_reading
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.http.shapes import NoFields
from holdfast.entrypoints.api.lookups import look_up
from holdfast.entrypoints.api.organization.structs import (
    ChangeOrganizationRequest,
    OrganizationAnswer,
    organization_answer,
)
from holdfast.services import reads
from holdfast.services.organizations import SettingsEditor

_PATH = "/api/organization"


async def get_organization(context: Context, call: Call, _: NoFields) -> Reply:
    found = await look_up(context, call, reads.organization, context.organizations)
    return reply_to_reading(call, found, organization_answer)


async def change_organization(
    context: Context, call: Call, body: ChangeOrganizationRequest
) -> Reply:
    refuse_empty(body)
    settings = _settings(body)
    organization_id = call.principal.organization_id
    editor = SettingsEditor(
        context.organizations,
        organization_id,
        call.origin,
        idempotency_of(call, call.idempotency_key, body),
        partial(render, call, show=_shown),
    )
    policy = policy_change(body.hold_policy)
    if policy is None:
        answer = await context.blocking.run(organization_id, editor.change, None, settings)
    else:
        # It concerns every session, so it shares the threads of other large changes.
        change = partial(editor.change, policy, settings)
        answer = await context.imports.run_for(IMPORT_SECONDS_MAX, organization_id, change)
    return reply_to(call, answer, _shown)


def _settings(body: ChangeOrganizationRequest) -> dict[str, SettingValue | None]:
    """The changed settings, or a report of all invalid ones."""
    given = {name: getattr(body, name) for name in SETTINGS}
    # No origins is the same as clearing them.
    settings = {
        name: None if value == () else value for name, value in given.items() if value is not UNSET
    }
    errors: list[FieldError] = []
    for name, value in settings.items():
        try:
            check_setting(name, value)
        except InvalidValue as error:
            errors.append(FieldError(name, "invalid_value", error.message))
    if errors:
        raise invalid(errors)
    return settings


def _shown(outcome: AnyOutcome) -> object:
    assert isinstance(outcome, Organization)
    return organization_answer(outcome)


ORGANIZATION_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="GET",
        path=_PATH,
        scope=Scope.SETTINGS_READ,
        summary="Read your organization and its settings",
        returns="The organization.",
        handler=get_organization,
        answer=OrganizationAnswer,
    ),
    Route(
        method="PATCH",
        path=_PATH,
        scope=Scope.SETTINGS_WRITE,
        summary="Change the settings of your organization",
        description="Events and ticket types inherit each field of `hold_policy` that they do not "
        "set themselves. The new policy applies to every hold made after the response.",
        returns="The changed organization.",
        handler=change_organization,
        body=ChangeOrganizationRequest,
        answer=OrganizationAnswer,
        refusals=(RefusalCode.INVALID_POLICY,),
    ),
)
