"""The Django app: no models, no migrations, and checks of its settings."""

from collections.abc import Sequence

from django.apps import AppConfig
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from holdfast.entrypoints.drf.conf import conf


class HoldfastConfig(AppConfig):
    name = "holdfast.entrypoints.drf"
    label = "holdfast_drf"
    verbose_name = "Holdfast"

    def ready(self) -> None:
        checks.register(_settings_problems)


def _settings_problems(**_: object) -> Sequence[checks.CheckMessage]:
    """For `manage.py check`."""
    try:
        found = conf()
    except ImproperlyConfigured as error:
        return [checks.Error(str(error), id="holdfast_drf.E001")]
    if found.in_process is not None and "HOLDFAST_SECRET_KEY" not in found.in_process:
        message = (
            "HOLDFAST['IN_PROCESS'] has no HOLDFAST_SECRET_KEY: logged-in users cannot hold tickets"
        )
        return [checks.Warning(message, id="holdfast_drf.W001")]
    return []
