"""Browsers of members."""

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client

from tests.pages.sales import Sale
from tests.support.people import PASSWORD, Staff, add_staff


def hire(database_url: str, sale: Sale, role: str) -> Staff:
    hashed = MD5PasswordHasher().encode(PASSWORD, "s" * 32)
    return add_staff(database_url, str(sale.organization_id), role, hashed)


def browser_of(staff: Staff, agent: str = "Mozilla/5.0 (X11; Linux) Firefox/140.0") -> Client:
    client = Client(SERVER_NAME="localhost", headers={"user-agent": agent})
    user = get_user_model().objects.get(pk=staff.user_id)
    client.force_login(user, "holdfast.adapters.postgres.access.passwords.TwoFactorBackend")
    return client
