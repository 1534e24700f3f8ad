from collections.abc import Iterator

import pytest

from tests.api.world import World


@pytest.fixture(scope="package")
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()
