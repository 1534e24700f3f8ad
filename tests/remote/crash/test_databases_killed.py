"""kill -9 of either service's PostgreSQL while holds are made and end: no request has its effect
twice, and both services agree within a minute after it has returned."""

import pytest

from holdfast.adapters.embedded import EmbeddedPostgres
from tests.remote.agreement import assert_agree
from tests.remote.crash.bursts import OPERATIONS, Burst
from tests.remote.layout import TwoServices


@pytest.mark.parametrize(
    "operations",
    [OPERATIONS, *(pytest.param((each,), marks=pytest.mark.long) for each in OPERATIONS)],
    ids=" and ".join,
)
@pytest.mark.parametrize("killed", ["holds", "inventory"])
def test_killed_during_a_burst(
    services: TwoServices,
    postgres_of: dict[str, EmbeddedPostgres],
    killed: str,
    operations: tuple[str, ...],
) -> None:
    burst = Burst(services, operations)
    postgres = postgres_of[killed]
    burst.run(postgres.kill)
    postgres.start()
    burst.finish()
    assert_agree(services)
    burst.assert_happened()
