"""kill -9 of either service's PostgreSQL, or of both, while holds are made and end: no request has
its effect twice, and both services agree within a minute after it has returned."""

import pytest

from holdfast.adapters.embedded import EmbeddedPostgres
from tests.remote.agreement import assert_agree
from tests.remote.crash.bursts import OPERATIONS, Burst
from tests.remote.layout import TwoServices

EACH = [
    pytest.param(killed, (operation,), marks=pytest.mark.long)
    for killed in (("holds",), ("inventory",))
    for operation in OPERATIONS
]


@pytest.mark.parametrize(
    ("killed", "operations"),
    [(("holds", "inventory"), OPERATIONS), *EACH],
    ids=" and ".join,
)
def test_killed_during_a_burst(
    services: TwoServices,
    postgres_of: dict[str, EmbeddedPostgres],
    killed: tuple[str, ...],
    operations: tuple[str, ...],
) -> None:
    burst = Burst(services, operations)

    def kill() -> None:
        for name in killed:
            postgres_of[name].kill()

    burst.run(kill)
    for name in killed:
        postgres_of[name].start()
    burst.finish()
    assert_agree(services)
    burst.assert_happened()
