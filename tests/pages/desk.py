"""A front desk: a venue with an engine, and the pages of its holds."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from holdfast.adapters.payments import TrustingPayments
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Outcome
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import EventId
from holdfast.domain.policy import HoldPolicy
from holdfast.engine import Admission, Limits
from holdfast.entrypoints.admin.apps import AdminConfig
from tests.contract.asking import ask
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld

HALL = Hall(
    {"Parterre": {"A": 6, "B": 6}, "Box": {"B": 2}},
    {"Adult": (), "Box seat": ()},
    sold_in={"Parterre": ("Adult",), "Box": ("Box seat",)},
)
PLAN = Plan({"floor": 4}, {"Standing": ("floor",)}, HoldPolicy(600, waitlist=True), HALL)


@dataclass(frozen=True)
class Desk:
    world: PostgresWorld
    engine: Admission
    venue: Venue

    def ask(self, command: Command) -> Outcome:
        return ask(self.engine, command)

    def now(self, hold: Hold) -> Hold:
        return self.world.hold(self.venue, hold.id)

    def page(self, client: Client, hold: Hold) -> str:
        return text_of(client.get(self.url(hold, "change")))

    def url(self, hold: Hold, name: str) -> str:
        where = f"/admin/holdfast/hold/{hold.id}/{name}/"
        return f"{where}?organization={hold.organization_id}"

    def confirm(
        self, client: Client, hold: Hold, name: str, *, seen: int | None = None, **given: Any
    ) -> str:
        """Submit the form of an action, and follow it to the page that it leads to."""
        now = self.now(hold)
        shown = {"version": seen or now.version, "total_minor": now.total.minor}
        form = {"reason": "buyer called", **shown, **given}
        answer = client.post(self.url(hold, name), form, follow=True)
        assert answer.status_code == 200
        return text_of(answer)

    def audited(self, hold: Hold) -> list[tuple[str, str, str | None, Any]]:
        """The changes of the hold itself, oldest first."""
        with self.world.connected() as connection:
            rows = connection.execute(
                "SELECT action, actor, acting_user, new FROM audit WHERE organization_id = %s"
                " AND hold_id = %s AND seat_id IS NULL ORDER BY seq",
                [hold.organization_id, hold.id],
            )
            return list(rows)  # type: ignore[arg-type]


def opened(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    world = PostgresWorld(database_url)
    engine = Admission(PostgresWorld(database_url).store, Limits(deadline_seconds=30))
    engine.start()
    services = SimpleNamespace(
        **vars(AdminConfig.services),
        submit=engine,
        deadline_seconds=30,
        payments=TrustingPayments(),
        attempts=SimpleNamespace(failed=lambda _: None),
    )
    monkeypatch.setattr(AdminConfig, "services", services)
    yield Desk(world, engine, world.build(replace(PLAN, event_id=EventId(uuid4()))))
    engine.stop()
    world.close()


def text_of(answer: Any) -> str:
    """The page as people read it: without tags, and with single spaces."""
    html = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", answer.content.decode())
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())
