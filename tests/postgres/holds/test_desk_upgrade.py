"""Upgrading a database to holds of the desk, and back."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.core.management import call_command
from django.db import connections

from holdfast.bootstrap.database import OWNER, setup_django
from holdfast.bootstrap.settings import Settings
from holdfast.domain.holds.hold import Remarks, Source
from holdfast.engine import Admission, Limits
from tests.contract.asking import placed
from tests.contract.worlds import PostgresWorld
from tests.support.patience import PATIENCE_SECONDS

BEFORE = "0030_session_status"


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


def test_an_earlier_version_takes_holds_of_the_desk_for_those_of_the_web(
    world: PostgresWorld,
) -> None:
    venue = world.venue({"floor": 5}, {"standing": ("floor",)})
    command = replace(venue.place(("standing", 1)), remarks=Remarks(Source.DESK))
    engine = Admission(world.store, Limits(deadline_seconds=PATIENCE_SECONDS))
    engine.start()
    hold = placed(engine, command)
    assert world.hold(venue, hold.id).remarks.source is Source.DESK
    migrate(BEFORE)
    assert world.hold(venue, hold.id).remarks.source is Source.WEB
    migrate()
    again = replace(venue.place(("standing", 1)), remarks=Remarks(Source.DESK))
    assert placed(engine, again).remarks.source is Source.DESK
    engine.stop()
