"""Sessions of the admin pages, by person (Django's SESSION_ENGINE)."""

from typing import TYPE_CHECKING, Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore

if TYPE_CHECKING:
    from holdfast.adapters.postgres.models import LoginSession


class SessionStore(DatabaseStore):
    @classmethod
    def get_model_class(cls) -> "type[LoginSession]":
        # Django loads this module before the models.
        from holdfast.adapters.postgres.models import LoginSession  # noqa: PLC0415

        return LoginSession

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row: Any = super().create_model_instance(data)
        row.user_id = data.get(SESSION_KEY)
        return row
