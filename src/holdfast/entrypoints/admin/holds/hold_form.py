"""The forms of actions on a hold."""

from typing import TYPE_CHECKING, Any

from django import forms

from holdfast.domain.policy import TTL_SECONDS_MAX
from holdfast.entrypoints.admin.actions import ReasonForm

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import NumberInput
else:
    from unfold.widgets import UnfoldAdminIntegerFieldWidget as NumberInput

_SECONDS_PER_MINUTE = 60
MINUTES_DEFAULT = 10


class HoldForm(ReasonForm):
    """With the version of the hold that the person saw."""

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if given.get("version") is None:
            raise forms.ValidationError("Open this page again from the page of the hold.")
        return given


class ExtensionForm(HoldForm):
    minutes = forms.IntegerField(
        label="Minutes to add",
        min_value=1,
        max_value=TTL_SECONDS_MAX // _SECONDS_PER_MINUTE,
        initial=MINUTES_DEFAULT,
        widget=NumberInput(),
    )
    field_order = ("minutes", "reason", "version")

    @property
    def seconds(self) -> int:
        return int(self.cleaned_data["minutes"]) * _SECONDS_PER_MINUTE
