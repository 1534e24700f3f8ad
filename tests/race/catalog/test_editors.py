"""Two people change the same part of the catalog at once, and both saw it as it was before."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest

from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.catalog.transaction import CatalogTransaction
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.catalog.changes import (
    CatalogChange,
    ChangeBlock,
    ChangeEvent,
    ChangePool,
    ChangeSession,
    ChangeTicketType,
)
from holdfast.domain.catalog.editing import state_of
from holdfast.domain.ids import PoolId
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from tests.contract.venues import ORIGIN, Hall, Plan
from tests.contract.worlds import PostgresWorld

ROUNDS = 10
HALL = Hall({"Stalls": {"A": 2}}, {"seat": ()})
KINDS = ("event", "session", "pool", "ticket_type", "block")


class Part:
    """One record of a venue's catalog."""

    def __init__(self, world: PostgresWorld, kind: str) -> None:
        plan = Plan({"floor": 9}, {"standing": ("floor",)}, hall=HALL)
        venue = world.build(plan)
        self.kind, self.organization_id = kind, venue.organization_id
        self.id: Any = {
            "event": plan.event_id,
            "session": venue.session_id,
            "pool": venue.pools["floor"],
            "ticket_type": venue.ticket_types["standing"],
            "block": venue.blocks["Stalls"],
        }[kind]

    def seen_in(self, catalog: PostgresCatalog) -> Any:
        return getattr(catalog, self.kind)(self.organization_id, self.id)

    def renamed(self, name: str) -> CatalogChange:
        match self.kind:
            case "event":
                return ChangeEvent(self.organization_id, self.id, name)
            case "session":
                return ChangeSession(self.organization_id, self.id, name)
            case "pool":
                return ChangePool(self.organization_id, self.id, name)
            case "ticket_type":
                return ChangeTicketType(self.organization_id, self.id, name)
            case _:
                return ChangeBlock(self.organization_id, self.id, PoolId(uuid4()), name)


@pytest.fixture
def catalog(fresh_world: PostgresWorld) -> Iterator[PostgresCatalog]:
    database = Database(fresh_world.url)
    database.open()
    yield PostgresCatalog(database)
    database.close()


def accepted_per_round(world: PostgresWorld, catalog: PostgresCatalog, kind: str) -> Iterator[int]:
    """Two people rename the record; yields how many of them succeed. Whoever did not is told that
    somebody else did."""
    part, together = Part(world, kind), Barrier(2)

    def rename(name: str, seen: str) -> object:
        together.wait(30)
        return catalog.apply(part.renamed(name), ORIGIN, None, lambda _: b"", seen).outcome

    with ThreadPoolExecutor(2) as people:
        for number in range(ROUNDS):
            seen = state_of(part.seen_in(catalog))
            names = [f"{name}'s {number}" for name in ("Ann", "Bob")]
            outcomes = list(people.map(rename, names, [seen] * 2))
            refusals = [each for each in outcomes if isinstance(each, Refusal)]
            assert {each.code for each in refusals} <= {RefusalCode.CATALOG_CHANGED}
            accepted = [
                name
                for name, outcome in zip(names, outcomes, strict=True)
                if not isinstance(outcome, Refusal)
            ]
            assert part.seen_in(catalog).name in accepted
            yield len(accepted)


@pytest.mark.parametrize("kind", KINDS)
def test_two_people_do_not_overwrite_each_other(
    fresh_world: PostgresWorld, catalog: PostgresCatalog, kind: str
) -> None:
    assert set(accepted_per_round(fresh_world, catalog, kind)) == {1}


def test_control_without_the_check_under_the_lock_they_do(
    fresh_world: PostgresWorld, catalog: PostgresCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both saw the state that was current when they sent the form."""
    monkeypatch.setattr(CatalogTransaction, "refuse_stale", lambda *_: None)
    assert max(accepted_per_round(fresh_world, catalog, "event")) == 2
