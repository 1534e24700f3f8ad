"""Examples of an organization for the OpenAPI document."""

from typing import Any

from holdfast.domain.access.scopes import Mode
from holdfast.domain.organizations import SETTINGS, Organization
from holdfast.domain.policy import PolicyOverride
from holdfast.entrypoints.api.catalog.policy import PolicyChangeRequest
from holdfast.entrypoints.api.openapi import example_values as sale
from holdfast.entrypoints.api.organization.structs import (
    ChangeOrganizationRequest,
    organization_answer,
)

_settings: dict[str, Any] = {name: setting.example for name, setting in SETTINGS.items()}
_organization = Organization(
    id=sale.ORGANIZATION,
    mode=Mode.LIVE,
    created_at=sale.NOW,
    policy=PolicyOverride(ttl_seconds=900),
    **_settings,
)

ORGANIZATION_ANSWERS: sale.Answers = (organization_answer(_organization),)
ORGANIZATION_REQUESTS: sale.Requests = (
    (
        "a longer hold time and a link to pay",
        ChangeOrganizationRequest(
            hold_policy=PolicyChangeRequest(ttl_seconds=900),
            pay_url=_settings["pay_url"],
        ),
    ),
)
