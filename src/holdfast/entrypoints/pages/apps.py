"""The Django app of the pages."""

from django.apps import AppConfig


class PagesConfig(AppConfig):
    name = "holdfast.entrypoints.pages"
    label = "pages"
