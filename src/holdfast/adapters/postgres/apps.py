"""The Django app of the tables."""

from django.apps import AppConfig


class PostgresConfig(AppConfig):
    name = "holdfast.adapters.postgres"
    label = "holdfast"
    verbose_name = "Holdfast"
    # Every primary key is declared; Django creates none.
    default_auto_field = "django.db.models.BigAutoField"
