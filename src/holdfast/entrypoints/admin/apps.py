"""The Django app of the admin."""

from typing import ClassVar

from django.apps import AppConfig

from holdfast.services.container import ApiContainer


class AdminConfig(AppConfig):
    """`services` is set by the process that serves the pages, before the first request: operators
    change things through it, as requests to the API do."""

    name = "holdfast.entrypoints.admin"
    label = "holdfast_admin"
    services: ClassVar[ApiContainer]
