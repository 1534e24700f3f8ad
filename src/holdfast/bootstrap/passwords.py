"""Passwords are checked by Django, which a process that serves only the API loads for the first
log-in."""

from functools import cached_property

from holdfast.bootstrap.database import setup_django
from holdfast.bootstrap.settings import Settings
from holdfast.ports.members import Credentials, PasswordCheck, Person, Refused


class _LazyPasswords:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def _check(self) -> PasswordCheck:
        setup_django(self._settings)
        # Imports models, so Django has to be set up.
        from holdfast.adapters.postgres.access.passwords import DjangoPasswords  # noqa: PLC0415

        return DjangoPasswords()

    def check(self, credentials: Credentials, address: str, user_agent: str) -> Person | Refused:
        return self._check.check(credentials, address, user_agent)


def passwords_of(settings: Settings) -> PasswordCheck:
    return _LazyPasswords(settings)
