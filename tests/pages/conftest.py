"""An organization with a sale, and somebody who may look at it."""

from collections.abc import Iterator

import psycopg
import pytest
from django.db import connections
from django.test import Client
from django.test.utils import override_settings

from holdfast.bootstrap.database import ensure_admin, setup_django
from holdfast.bootstrap.settings import Settings
from tests.pages.sales import Sale, new_sale

NAME, PASSWORD = "head-of-desk", "a long enough password"
# The real one takes its time on purpose.
QUICK_HASHER = "django.contrib.auth.hashers.MD5PasswordHasher"


@pytest.fixture
def sale(database_url: str) -> Iterator[Sale]:
    setup_django(Settings(database_url=database_url))
    with (
        psycopg.connect(database_url, autocommit=True) as owner,
        override_settings(PASSWORD_HASHERS=[QUICK_HASHER]),
    ):
        yield new_sale(owner)
    connections.close_all()


@pytest.fixture
def operator(sale: Sale) -> Client:
    """A browser in which somebody is logged in."""
    ensure_admin(NAME, PASSWORD)
    client = Client(SERVER_NAME="localhost")
    assert client.login(username=NAME, password=PASSWORD)
    return client
