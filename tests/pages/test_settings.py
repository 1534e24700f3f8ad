"""The settings of an organization in the admin."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client

from holdfast.adapters.postgres.access.settings import PostgresOrganizationSettings
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.entrypoints.admin.apps import AdminConfig
from tests.pages.sales import Sale, page


@pytest.fixture
def services(database_url: str, sale: Sale, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    database = Database(database_url)
    database.open()
    organizations = PostgresOrganizationSettings(database)
    made = SimpleNamespace(organizations=organizations)
    monkeypatch.setattr(AdminConfig, "services", made, raising=False)
    yield
    database.close()


def save(operator: Client, organization_id: object, **entered: Any) -> HttpResponse:
    path = f"/admin/holdfast/organization/{organization_id}/settings/"
    given = {"name": "River Stage", "time_zone": "UTC", **entered}
    return cast("HttpResponse", operator.post(path, given))


def test_settings_are_changed(operator: Client, sale: Sale, services: None) -> None:
    own = sale.organization_id
    assert "Change settings" in page(operator, f"organization/{own}/change/")
    form = page(operator, f"organization/{own}/settings/")
    assert "apply to live data only" in form
    entered = {"time_zone": "Europe/Berlin", "ttl_seconds": "900", "waitlist": "true"}
    answer = save(operator, own, **entered, mail_footer="Harbour Street")
    assert answer.status_code == 302
    shown = page(operator, f"organization/{own}/change/")
    assert "Europe/Berlin" in shown
    assert "900" in shown
    again = page(operator, f"organization/{own}/settings/")
    assert '<option value="true" selected>' in again


@pytest.mark.parametrize(
    ("entered", "problem"),
    [
        ({"name": ""}, "This field is required"),
        ({"time_zone": "Mars"}, "must be the name of a time zone"),
        ({"ttl_seconds": "0"}, "greater than or equal to 1"),
        ({"pay_url": "javascript:alert(1)"}, "must be a URL"),
        ({"ttl_seconds": "600", "lifetime_max_seconds": "60"}, "lifetime_max_seconds"),
    ],
)
def test_wrong_input_changes_nothing(
    operator: Client, sale: Sale, services: None, entered: dict[str, str], problem: str
) -> None:
    answer = save(operator, sale.organization_id, **entered)
    assert answer.status_code == 200
    assert problem in answer.content.decode()
    assert "River Stage" not in page(operator, f"organization/{sale.organization_id}/change/")


def test_an_unknown_organization_is_not_found(operator: Client, services: None) -> None:
    assert save(operator, uuid4()).status_code == 404
