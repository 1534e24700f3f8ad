"""An organization with a sale, and an operator who may view it."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.db import connections
from django.http import HttpResponse
from django.test import Client
from django.test.utils import override_settings

from holdfast.adapters.postgres.access.keys import PostgresKeyStore
from holdfast.adapters.postgres.access.members import PostgresMembers
from holdfast.adapters.postgres.access.sessions import PostgresMemberSessions
from holdfast.adapters.postgres.access.settings import PostgresOrganizationSettings
from holdfast.adapters.postgres.audit.exports import PostgresExportLog
from holdfast.adapters.postgres.audit.reader import PostgresAudit
from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.adapters.postgres.mails.requests import PostgresMailRequests
from holdfast.adapters.postgres.mails.templates import PostgresMailTemplates
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.bootstrap.accounts import ensure_admin
from holdfast.bootstrap.database import setup_django
from holdfast.bootstrap.settings import Settings
from holdfast.domain.holder_hash import NO_HASHES
from holdfast.engine import Admission, Limits
from holdfast.entrypoints.admin.apps import AdminConfig
from tests.pages.sales import Sale, new_sale
from tests.support.patience import PATIENCE_SECONDS

NAME, PASSWORD = "head-of-desk", "a long enough password"
# The real hasher is slow on purpose.
QUICK_HASHER = "django.contrib.auth.hashers.MD5PasswordHasher"


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """What the admin acts through, without the engine."""
    opened = Database(database_url)
    opened.open()
    services = SimpleNamespace(
        keys=PostgresKeyStore(opened),
        organizations=PostgresOrganizationSettings(opened),
        holds=PostgresHolds(opened),
        mail_templates=PostgresMailTemplates(opened),
        mail_requests=PostgresMailRequests(opened),
        members=PostgresMembers(opened),
        member_sessions=PostgresMemberSessions(opened),
        orders=PostgresOrders(opened),
        audit=PostgresAudit(opened, NO_HASHES),
        exports=PostgresExportLog(opened),
    )
    monkeypatch.setattr(AdminConfig, "services", services, raising=False)
    yield opened
    opened.close()


@pytest.fixture
def engine(database: Database, database_url: str) -> Iterator[Admission]:
    """The engine behind the services."""
    limits = Limits(deadline_seconds=PATIENCE_SECONDS)
    started = Admission(PostgresStore(database_url), limits)
    started.start()
    services: Any = AdminConfig.services
    services.submit, services.deadline_seconds = started, limits.deadline_seconds
    yield started
    started.stop()


@pytest.fixture
def sale(database_url: str, database: Database) -> Iterator[Sale]:
    setup_django(Settings(database_url=database_url))
    with (
        psycopg.connect(database_url, autocommit=True) as owner,
        override_settings(PASSWORD_HASHERS=[QUICK_HASHER]),
    ):
        yield new_sale(owner)
    connections.close_all()


@pytest.fixture
def operator(sale: Sale) -> Client:
    """A browser with an operator logged in."""
    ensure_admin(NAME, PASSWORD)
    client = Client(SERVER_NAME="localhost")
    client.force_login(get_user_model().objects.get(username=NAME))
    return client


def log_in(name: str, password: str, address: str = "127.0.0.1") -> HttpResponse:
    """Submit the log-in form."""
    client = Client(SERVER_NAME="localhost", REMOTE_ADDR=address)
    entered = {"username": name, "password": password, "next": "/admin/"}
    return cast("HttpResponse", client.post("/admin/login/", entered))
