"""The fields of the forms: names, counts, prices in the event's currency, and local times."""

import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from django import forms

from holdfast.domain.amounts import MINOR_DIGITS, MINOR_DIGITS_USUAL
from holdfast.domain.catalog.schedule import local_moment
from holdfast.domain.values import MINOR_UNITS_MAX, InvalidValue

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import CheckboxInput, CheckboxSelectMultiple, NumberInput, Select, TextInput
else:
    from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget as CheckboxSelectMultiple
    from unfold.widgets import UnfoldAdminIntegerFieldWidget as NumberInput
    from unfold.widgets import UnfoldAdminSelectWidget as Select
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput
    from unfold.widgets import UnfoldBooleanWidget as CheckboxInput

__all__ = ["CheckboxInput", "CheckboxSelectMultiple", "NumberInput", "Select", "TextInput"]

NAME_LENGTH_MAX = 200
CAPACITY_MAX = 2**31 - 1
_WALL_CLOCK = "%Y-%m-%dT%H:%M"


def text_field(label: str, help_text: str = "", **more: Any) -> forms.CharField:
    more.setdefault("max_length", NAME_LENGTH_MAX)
    widget = more.pop("widget", None) or TextInput()
    return forms.CharField(label=label, help_text=help_text, widget=widget, **more)


def count_field(
    label: str, help_text: str = "", least: int = 0, most: int = CAPACITY_MAX, **more: Any
) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        help_text=help_text,
        min_value=least,
        max_value=most,
        widget=NumberInput(),
        **more,
    )


def day_field(label: str, help_text: str = "") -> forms.DateField:
    widget = TextInput(attrs={"type": "date"})
    return forms.DateField(
        label=label, help_text=help_text, widget=widget, input_formats=["%Y-%m-%d"]
    )


class PriceField(forms.CharField):
    """An amount as people write it, such as 25.50; the value is in minor units."""

    def __init__(self, currency: str, **more: Any) -> None:
        self._digits = MINOR_DIGITS.get(currency, MINOR_DIGITS_USUAL)
        more.setdefault("label", f"Price ({currency})")
        widget = TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
        super().__init__(widget=widget, max_length=20, **more)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if text == "":
            return None
        part = rf"(?:[.,]([0-9]{{1,{self._digits}}}))?" if self._digits else ""
        written = re.fullmatch(rf"([0-9]{{1,13}}){part}", text, re.ASCII)
        if written is None:
            digits = f", with at most {self._digits} decimals" if self._digits else ", no decimals"
            raise forms.ValidationError(f"Enter an amount such as {self.shown(2550)}{digits}.")
        whole, *rest = written.groups()
        minor = int(whole) * 10**self._digits + int(
            ((rest or [None])[0] or "").ljust(self._digits, "0") or 0
        )
        if minor > MINOR_UNITS_MAX:
            raise forms.ValidationError(f"Enter at most {self.shown(MINOR_UNITS_MAX)}.")
        return minor

    def shown(self, minor: int) -> str:
        """As people write it."""
        whole, part = divmod(minor, 10**self._digits)
        return f"{whole}.{part:0{self._digits}}" if self._digits else str(whole)

    def prepare_value(self, value: Any) -> Any:
        return self.shown(value) if isinstance(value, int) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


class LocalTimeField(forms.CharField):
    """A time on the clocks of the event or the organization; the value is in UTC."""

    def __init__(self, zone: ZoneInfo, **more: Any) -> None:
        self._zone = zone
        more["help_text"] = f"{more.get('help_text', '')} Time zone: {zone.key}.".strip()
        super().__init__(widget=TextInput(attrs={"type": "datetime-local"}), **more)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if text == "":
            return None
        try:
            wall_clock = datetime.fromisoformat(text).replace(second=0, microsecond=0)
            moment = local_moment(wall_clock.replace(tzinfo=None), self._zone).astimezone(UTC)
        except InvalidValue as error:
            raise forms.ValidationError(f"{error.message}.") from None
        except (ValueError, OverflowError):
            message = "Enter a date and a time, such as 2030-08-02T20:00."
            raise forms.ValidationError(message) from None
        return moment

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, datetime):
            return f"{value.astimezone(self._zone):{_WALL_CLOCK}}"
        return value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


def written_day(day: date) -> str:
    """`Fri 2030-08-02`, in English whatever the locale."""
    return f"{('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun')[day.weekday()]} {day:%Y-%m-%d}"


def written_moment(moment: datetime, zone: ZoneInfo) -> str:
    """`Fri 2030-08-02 20:00 (Europe/Berlin)`"""
    local = moment.astimezone(zone)
    return f"{written_day(local)} {local:%H:%M} ({zone.key})"
