"""The Django app of the admin."""

from typing import ClassVar

from django.apps import AppConfig

from holdfast.services.container import ApiContainer


class AdminConfig(AppConfig):
    """The process that serves the pages sets `services` before the first request: changes by
    operators go through it, like those of the API."""

    name = "holdfast.entrypoints.admin"
    label = "holdfast_admin"
    services: ClassVar[ApiContainer]
