"""Upgrading a database with a waitlist, and back."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connections

from holdfast.bootstrap.database import OWNER, setup_django
from holdfast.bootstrap.settings import Settings
from tests.contract.worlds import PostgresWorld
from tests.postgres.rounds import Rounds
from tests.postgres.waitlist.test_cache import assert_is_current, wait

BEFORE = "0016_audit_by_key"


@pytest.fixture
def world(fresh_database_url: str, database_url: str) -> Iterator[PostgresWorld]:
    setup_django(Settings(database_url=fresh_database_url))
    world = PostgresWorld(fresh_database_url)
    yield world
    world.close()
    connections.close_all()
    setup_django(Settings(database_url=database_url))


def migrate(*target: str) -> None:
    call_command("migrate", "holdfast", *target, database=OWNER, verbosity=0)


def test_a_waitlist_of_an_earlier_version_goes_on(world: PostgresWorld) -> None:
    pools = {"floor": 100, "balcony": 100}
    rounds = Rounds(world, world.venue(pools, {"standing": ("floor",)}))
    before = wait(rounds, "floor", count=2)
    rounds.close()
    migrate(BEFORE)
    migrate()
    with Rounds(world, rounds.venue).in_another_process() as upgraded:
        after = wait(upgraded, "floor")
        with upgraded.round() as within:
            waitlist = within.ledger.waitlists[upgraded.session_key]
            assert waitlist.in_order() == [*before, *after]
        assert_is_current(upgraded)
