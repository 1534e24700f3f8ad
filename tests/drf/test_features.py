"""The features of the shared routes, with the Django project in front."""

import pytest

from tests.drf.fronts import django_platform
from tests.drf.shared import taken_from
from tests.drf.shops import RunningShop
from tests.e2e.owner import Owner
from tests.features import (
    conftest,
    test_checkout,
    test_conversion,
    test_ticket_holds,
)
from tests.features.scene import Scene

for module in (
    conftest,
    # test_server_away has cases of its own.
    test_ticket_holds,
    test_conversion,
    test_checkout,
):
    globals().update(taken_from(module, without={"scene", "test_service_unavailable"}))


@pytest.fixture
def scene(shop: RunningShop, database_url: str) -> Scene:
    return Scene(django_platform(shop, database_url), Owner(database_url))
