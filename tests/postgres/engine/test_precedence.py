"""The main lane keeps the interpreter while it computes under locks, and at no other time."""

import contextlib
import sys
from collections.abc import Iterator

import pytest

from holdfast.adapters.postgres.connections.pipeline import KEPT_SECONDS
from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.ports.store import Wanted
from tests.contract.venues import Plan, Venue
from tests.contract.worlds import PostgresWorld

USUAL_SECONDS = 0.001


@pytest.fixture(autouse=True)
def interval() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(USUAL_SECONDS)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def venue(database_url: str) -> Venue:
    return PostgresWorld(database_url).build(Plan({"floor": 10}, {"standing": ("floor",)}))


def interval_now() -> float:
    return round(sys.getswitchinterval(), 6)


@pytest.mark.parametrize("is_patient", [False, True])
def test_a_group_of_the_main_lane_takes_precedence(
    database_url: str, venue: Venue, is_patient: bool
) -> None:
    pool = Resource(ResourceKind.POOL, venue.organization_id, venue.pools["floor"])
    connection = PostgresStore(database_url).connect()
    with connection.group() as group:
        group.lock_and_read(Wanted(frozenset({pool})), pool if is_patient else None)
        assert interval_now() == (USUAL_SECONDS if is_patient else KEPT_SECONDS)
    assert interval_now() == USUAL_SECONDS
    connection.close()


def test_precedence_ends_with_a_group_that_fails(database_url: str, venue: Venue) -> None:
    pool = Resource(ResourceKind.POOL, venue.organization_id, venue.pools["floor"])
    connection = PostgresStore(database_url).connect()
    with contextlib.suppress(ZeroDivisionError), connection.group() as group:
        group.lock_and_read(Wanted(frozenset({pool})))
        raise ZeroDivisionError
    assert interval_now() == USUAL_SECONDS
    connection.close()
