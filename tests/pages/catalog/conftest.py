"""A manager in front of an empty organization, with a real engine behind the pages."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from uuid import UUID

import pytest
from django.db import connections
from django.http import HttpResponse
from django.test import Client

from holdfast.bootstrap.server import Server
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.admin.apps import AdminConfig
from tests.pages.sales import Sale
from tests.pages.staff import browser_of, hire
from tests.support.patience import PATIENCE_SECONDS

T = TypeVar("T")


@dataclass
class Desk:
    """The browser of a member, and the tables behind the pages."""

    client: Client
    sale: Sale
    name: str

    def get(self, path: str, **query: str) -> str:
        answer = self.client.get(f"/admin/holdfast/{path}", query)
        assert answer.status_code == 200, (answer.status_code, answer.content[:500])
        return answer.content.decode()

    def post(self, path: str, **given: Any) -> HttpResponse:
        return cast("HttpResponse", self.client.post(f"/admin/holdfast/{path}", given))

    def save(self, path: str, **given: Any) -> str:
        """Send a form that is accepted; the path of the page that follows."""
        answer = self.post(path, **given)
        assert answer.status_code == 302, answer.content.decode()
        return answer.headers["Location"].removeprefix("/admin/holdfast/")

    def refused(self, path: str, **given: Any) -> str:
        """Send a form that is not accepted; the page with the errors."""
        answer = self.post(path, **given)
        assert answer.status_code == 200, (answer.status_code, answer.headers)
        return answer.content.decode()

    def rows(self, query: str, *parameters: object) -> list[Any]:
        return self.sale.owner.execute(query.encode(), parameters).fetchall()

    def audited(self, action: str) -> list[tuple[str, str | None, str | None]]:
        """Actor, person and reason of the entries about an action, the oldest first."""
        return self.rows(
            "SELECT actor, acting_user, new ->> 'reason' FROM audit WHERE organization_id = %s"
            " AND action = %s ORDER BY at",
            self.sale.organization_id,
            action,
        )

    def event(self, **given: Any) -> UUID:
        entered = {"name": "Summer nights", "currency": "EUR", **given}
        return _id(self.save(f"event/new/{self.sale.organization_id}/", **entered))

    def session(self, event_id: UUID, **given: Any) -> UUID:
        return _id(self.save(f"event/{event_id}/session/", **{"name": "Friday", **given}))

    def ticket_type(self, session_id: UUID, **given: Any) -> UUID:
        entered = {"name": "Adult", "price": "25.50", **given}
        self.save(f"session/{session_id}/tickettype/", **entered)
        ((id_,),) = self.rows(
            "SELECT id FROM ticket_type WHERE session_id = %s AND name = %s",
            session_id,
            entered["name"],
        )
        return UUID(str(id_))


def _id(path: str) -> UUID:
    return UUID(path.split("/")[1])


@pytest.fixture
def engine(sale: Sale, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = Server(Settings(database_url=database_url, holdfast_duties="none"))
    server.start()
    monkeypatch.setattr(AdminConfig, "services", server.container)
    yield
    server.stop()


@pytest.fixture
def desk(sale: Sale, database_url: str, engine: None) -> Desk:
    staff = hire(database_url, sale, "manager")
    return Desk(browser_of(staff), sale, staff.username)


def in_another_thread(action: Callable[[], T]) -> T:
    """Do it while this thread is in the middle of something, as another browser would."""

    def run() -> T:
        try:
            return action()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result(PATIENCE_SECONDS)
