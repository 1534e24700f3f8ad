"""The admin acts through the services, and so through the engine, like the API."""

import asyncio
from collections.abc import Callable

import pytest
from django.test import Client
from uuid_utils.compat import uuid7

from holdfast.bootstrap.settings import Settings
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Released
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.asgi import app
from holdfast.ports.engine import Answer
from tests.pages.sales import Sale, page


@pytest.mark.parametrize("create", [app.create_everything, app.create_pages_only])
def test_the_admin_can_release_a_hold_through_the_services(
    create: Callable[[], app.Application],
    operator: Client,
    sale: Sale,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(app, "prepare_process", lambda: Settings(database_url=database_url))
    hold_id = sale.place()
    origin = Origin("operator:ann", str(uuid7()))
    command = ReleaseHold(OrganizationId(sale.organization_id), HoldId(hold_id), origin)

    def release() -> Answer:
        return AdminConfig.services.submit.submit(command).result(timeout=10)

    answer = asyncio.run(_while_served(create(), release))
    assert isinstance(answer.outcome, Released)
    assert "cancelled" in page(operator, f"hold/{hold_id}/change/")


async def _while_served(served: app.Application, act: Callable[[], Answer]) -> Answer:
    async with served.running():
        return await asyncio.to_thread(act)
