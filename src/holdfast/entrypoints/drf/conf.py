"""The setting HOLDFAST of the Django project."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from holdfast.domain.immutable import immutable

_THROTTLE_RATES = {"read": "600/min", "change": "120/min"}
_KNOWN = ("IN_PROCESS", "SERVER_URL", "KEY", "HOLDER", "TIMEOUT_SECONDS", "THROTTLE_RATES")
_TIMEOUT_SECONDS = 10.0


@immutable(kw_only=True)
class Conf:
    """Either `in_process`, the variables of docs/configuration.md, or `server_url`."""

    in_process: Mapping[str, str] | None
    server_url: str | None
    key: str
    holder: Callable[[Any], Mapping[str, str]]
    timeout_seconds: float
    throttle_rates: Mapping[str, str | None]


@cache
def conf() -> Conf:
    return configured(getattr(settings, "HOLDFAST", {}))


def configured(given: Mapping[str, Any]) -> Conf:
    """Raises ImproperlyConfigured."""
    unknown = sorted(set(given) - set(_KNOWN))
    if unknown:
        raise ImproperlyConfigured(f"HOLDFAST: unknown {', '.join(unknown)}; known: {_KNOWN}")
    in_process, server_url = given.get("IN_PROCESS"), given.get("SERVER_URL")
    if bool(in_process) is bool(server_url):
        raise ImproperlyConfigured(
            "HOLDFAST: set either IN_PROCESS, with the engine's DATABASE_URL, or SERVER_URL"
        )
    if in_process and not in_process.get("DATABASE_URL"):
        raise ImproperlyConfigured("HOLDFAST['IN_PROCESS']: DATABASE_URL must be set")
    if not given.get("KEY"):
        raise ImproperlyConfigured("HOLDFAST['KEY']: must be a secret key of your organization")
    return Conf(
        in_process=in_process or None,
        server_url=server_url or None,
        key=given["KEY"],
        holder=import_string(given.get("HOLDER", "holdfast.entrypoints.drf.holders.holder_of")),
        timeout_seconds=float(given.get("TIMEOUT_SECONDS", _TIMEOUT_SECONDS)),
        throttle_rates=_THROTTLE_RATES | given.get("THROTTLE_RATES", {}),
    )


def _forget(*, setting: str, **_: object) -> None:
    """For tests of the project, which override settings."""
    if setting == "HOLDFAST":
        conf.cache_clear()


setting_changed.connect(_forget)
