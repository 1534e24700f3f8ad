"""Each test has a sale on its own database."""

from collections.abc import Iterator

import pytest

from tests.relay.stage import Stage, staged


@pytest.fixture
def stage(fresh_database_url: str) -> Iterator[Stage]:
    with staged(fresh_database_url) as stage:
        yield stage
