"""The form for the settings of an organization."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from holdfast.domain.ids import OrganizationId
from holdfast.domain.organizations import (
    SETTINGS,
    Organization,
    Setting,
    SettingKind,
    setting_of,
    written_setting,
)
from holdfast.domain.policy import POLICY_FIELDS
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import InvalidValue
from holdfast.entrypoints.admin.actions import ask
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.catalog.policies import (
    add_policy_fields,
    effective_policy,
    policy_value,
    shown_policy,
)
from holdfast.entrypoints.admin.people.rights import origin_of
from holdfast.services.organizations import SettingsEditor

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import Select, TextInput
else:
    from unfold.widgets import UnfoldAdminSelectWidget as Select
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput

_SWITCH = (("", "Default (off)"), ("true", "On"), ("false", "Off"))


class SettingsForm(forms.Form):
    """One field for each setting and each field of the policy. An empty optional field means the
    default. Only fields that the person changed count: others may have changed meanwhile."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, setting in SETTINGS.items():
            self.fields[name] = (
                forms.ChoiceField(choices=_SWITCH, required=False, widget=Select())
                if setting.kind is SettingKind.SWITCH
                else forms.CharField(
                    required=setting.is_required,
                    max_length=setting.length_max if setting.kind is SettingKind.TEXT else None,
                    widget=TextInput(),
                )
            )
            self.fields[name].label = setting.label.capitalize()
            self.fields[name].help_text = _help(setting)
        add_policy_fields(self, effective_policy(()))
        for field_shown in self.fields.values():
            field_shown.show_hidden_initial = True

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        for name in SETTINGS:
            try:
                if name in given:
                    setting_of(name, given[name])
            except InvalidValue as error:
                self.add_error(name, error.message)
        return given


def change_settings(request: HttpRequest, organization_id: UUID) -> HttpResponse:
    """The form for an organization that exists."""
    own = OrganizationId(organization_id)
    organization = AdminConfig.services.organizations.organization(own)
    assert organization is not None
    form = SettingsForm(request.POST or None, initial=_shown(organization))
    if form.is_valid():
        given = {name: form.cleaned_data[name] for name in form.changed_data}
        settings = {
            name: setting_of(name, text) for name, text in given.items() if name in SETTINGS
        }
        policy = {
            name: policy_value(value) for name, value in given.items() if name in POLICY_FIELDS
        }
        editor = SettingsEditor(AdminConfig.services.organizations, own, origin_of(request))
        answer = editor.change(policy or None, settings)
        if not isinstance(answer.outcome, Refusal):
            messages.success(request, "Settings saved.")
            return HttpResponseRedirect(
                reverse("admin:holdfast_organization_change", args=[organization_id])
            )
        form.add_error(None, answer.outcome.message)
    texts = {
        "title": f"Settings of {organization.name}",
        "consequence": f"These settings apply to {organization.mode.value} data only. The hold "
        "policy applies to new holds; events and ticket types can override it.",
        "button": "Save settings",
        "back": reverse("admin:holdfast_organization_change", args=[organization_id]),
    }
    return ask(request, form, **texts)


def _shown(organization: Organization) -> dict[str, Any]:
    settings = organization.settings().items()
    return {
        **{name: written_setting(value) for name, value in settings},
        **shown_policy(organization.policy),
    }


def _help(setting: Setting) -> str:
    if setting.kind is SettingKind.SWITCH:
        return setting.meaning
    separated = " Separate them with commas." if setting.kind is SettingKind.LIST else ""
    return f"{setting.meaning}{separated} Example: {written_setting(setting.example)}"
