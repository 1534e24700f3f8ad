"""Asks before a change that ends waitlists."""

from datetime import datetime
from typing import Any

from django import forms
from django.db.models import Sum
from django.utils import timezone

from holdfast.adapters.postgres.models import WaitingLine
from holdfast.entrypoints.admin.catalog.fields import CheckboxInput

_FIELD = "ends_waitlist"


def parties_waiting(**sessions: Any) -> int:
    return WaitingLine.objects.filter(**sessions).aggregate(all=Sum("waiting"))["all"] or 0


def ask_to_end_waitlist(form: forms.Form, moment: datetime | None, **sessions: Any) -> None:
    """The waitlist of a session ends once the session has started or its sale is over. If this is
    what the new `moment` does, the form is valid only with a tick. For `clean`."""
    waiting = 0 if moment is None or moment > timezone.now() else parties_waiting(**sessions)
    if not waiting:
        return
    parties = "1 party is" if waiting == 1 else f"{waiting:,} parties are"
    form.fields[_FIELD] = forms.BooleanField(
        required=False,
        label=f"{parties} on the waitlist; it ends now and cannot be restored",
        widget=CheckboxInput(),
    )
    if _FIELD not in form.data:
        form.add_error(_FIELD, "This time is in the past. Correct it, or confirm what it ends.")
