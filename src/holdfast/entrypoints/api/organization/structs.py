"""The settings of an organization in requests and answers, with the fields of the domain."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, defstruct

from holdfast.domain.ids import OrganizationId
from holdfast.domain.organizations import (
    ORIGINS_MAX,
    SETTINGS,
    Organization,
    Setting,
    SettingKind,
)
from holdfast.entrypoints.api.catalog.policy import (
    PolicyAnswer,
    PolicyChangeRequest,
    policy_answer,
)
from holdfast.entrypoints.api.http.shapes import AnswerShape, RequestShape, or_unset, utc


def _setting_type(name: str) -> Any:
    setting = SETTINGS[name]
    rule = {"message": f"{name} {setting.rule}"}
    if setting.kind is SettingKind.SWITCH:
        about = Meta(description=setting.meaning, examples=[setting.example], extra=rule)
        return Annotated[bool, about]
    if setting.kind is SettingKind.LIST:
        each = Meta(min_length=1, max_length=setting.length_max, extra=rule)
        about = Meta(
            max_length=ORIGINS_MAX,
            description=setting.meaning,
            examples=[setting.example],
            extra=rule,
        )
        return Annotated[tuple[Annotated[str, each], ...], about]
    meta = Meta(
        min_length=1,
        max_length=setting.length_max,
        description=setting.meaning,
        examples=[setting.example],
        extra=rule,
    )
    return Annotated[str, meta]


def _absent(setting: Setting) -> Any:
    return UnsetType if setting.is_required else UnsetType | None


if TYPE_CHECKING:

    class ChangeOrganizationRequest(RequestShape, frozen=True):
        hold_policy: PolicyChangeRequest | UnsetType = UNSET
        pay_url: str | UnsetType | None = UNSET

    class OrganizationAnswer(AnswerShape, frozen=True):
        def __init__(self, **fields: Any) -> None: ...
else:
    ChangeOrganizationRequest = defstruct(
        "ChangeOrganizationRequest",
        [
            ("hold_policy", PolicyChangeRequest | UnsetType, UNSET),
            *(
                (name, _setting_type(name) | _absent(setting), UNSET)
                for name, setting in SETTINGS.items()
            ),
        ],
        bases=(RequestShape,),
        namespace={"__doc__": "Omitted fields stay unchanged. null clears an optional field."},
        module=__name__,
        frozen=True,
    )
    OrganizationAnswer = defstruct(
        "OrganizationAnswer",
        [
            ("organization_id", OrganizationId),
            (
                "mode",
                Annotated[
                    Literal["test", "live"],
                    Meta(description="Whether these are the test or the live settings."),
                ],
            ),
            ("created_at", datetime),
            ("hold_policy", PolicyAnswer),
            *((name, _setting_type(name) | UnsetType, UNSET) for name in SETTINGS),
        ],
        bases=(AnswerShape,),
        namespace={"__doc__": "An organization and its settings, for one mode."},
        module=__name__,
        frozen=True,
        kw_only=True,
    )


def organization_answer(organization: Organization) -> OrganizationAnswer:
    return OrganizationAnswer(
        organization_id=organization.id,
        mode=organization.mode.value,
        created_at=utc(organization.created_at),
        hold_policy=policy_answer(organization.policy),
        **{name: or_unset(value) for name, value in organization.settings().items()},
    )
