"""Holds in front of an Inventory Service: 100 buyers at once, and holds that lapse together. Each
service is a process of its own with its own database; Valkey carries the messages."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from urllib.request import Request, urlopen

import psycopg
from uuid_utils.compat import uuid7

from bench.lab import POOL_TOTAL, SESSION_ID, Lab, RunningServer, ticket_type_id
from bench.load import place_script, run_wrk
from bench.placing import figure_of, load_server
from bench.results import Figure, median, relative_spread
from bench.rounds import Plan
from holdfast.adapters.embedded import EmbeddedValkey
from holdfast.adapters.postgres.access.organizations import PostgresOrganizations
from holdfast.adapters.postgres.connections.connection import OWNER_AT_WORK
from holdfast.domain.access.scopes import Mode
from holdfast.domain.ids import OrganizationId
from holdfast.services.access.authentication import new_secret_key

CLIENTS = 100
# With so many clients, a mean of half a second is this rate.
PLACED_PER_SECOND_MIN = CLIENTS / 0.5
EXPIRED_PER_SECOND_MIN = 1_000 / 60
GIVE_UP_SECONDS = 120
LAPSE = """
UPDATE hold SET created_at = created_at - shift, updated_at = updated_at - shift,
    held_at = held_at - shift, expires_at = expires_at - shift, due_at = expires_at - shift,
    warn_at = NULL
FROM (SELECT interval '1 day' AS shift) AS moved
WHERE status = 'active'
"""


@dataclass(frozen=True)
class TwoServices:
    holds: RunningServer
    inventory_url: str  # of its database, as its owner

    def held(self) -> int:
        with psycopg.connect(self.inventory_url) as connection:
            connection.execute(OWNER_AT_WORK)
            row = connection.execute("SELECT coalesce(sum(held), 0) FROM pool").fetchone()
        assert row is not None
        return int(row[0])


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    plan.log("two services, starting them")
    lab.clear()
    with two_services(lab) as services:
        script = partial(_script, lab)
        placed = []
        for number in range(plan.rounds):
            plan.log(f"two services, round {number + 1} of {plan.rounds}")
            placed.append(load_server(lab, services.holds, script, CLIENTS, plan.seconds))
        expired = [_expiries(lab, services, number) for number in range(plan.rounds)]
    placing = figure_of("two services, placing", CLIENTS, placed, must=1.0)
    return [
        replace(placing, versus="a mean of 500 ms", base_rate=PLACED_PER_SECOND_MIN),
        Figure(
            "two services, expiring",
            1,
            median(expired),
            versus="1,000 a minute",
            base_rate=EXPIRED_PER_SECOND_MIN,
            must=1.0,
            spread=relative_spread(expired),
        ),
    ]


def _script(lab: Lab, seed: int) -> str:
    return place_script(lab, is_hot=True, seed=seed)


def _expiries(lab: Lab, services: TwoServices, number: int) -> float:
    """How many per second, until the last of them is free in the Inventory Service."""
    run_wrk(lab, services.holds, _script(lab, 100 + number), CLIENTS, 1)
    _wait_for_end(lambda: _pending(lab), "pending holds were not settled")
    lapsing = services.held()
    started = time.perf_counter()
    with lab.connected() as connection:
        connection.execute(LAPSE)
    _wait_for_end(services.held, "the holds did not expire in the Inventory Service")
    return lapsing / (time.perf_counter() - started)


def _pending(lab: Lab) -> int:
    """Requests go on after the load has ended."""
    with lab.connected() as connection:
        row = connection.execute("SELECT count(*) FROM hold WHERE status = 'pending'").fetchone()
    assert row is not None
    return int(row[0])


def _wait_for_end(count: Callable[[], int], problem: str) -> None:
    give_up_at = time.perf_counter() + GIVE_UP_SECONDS
    while count():
        if time.perf_counter() > give_up_at:
            raise RuntimeError(problem)
        time.sleep(0.05)


@contextmanager
def two_services(lab: Lab) -> Iterator[TwoServices]:
    url = lab.another_database("inventory")
    secret, key = new_secret_key(Mode.TEST)
    organization_id = OrganizationId(uuid7())
    PostgresOrganizations(url).create(organization_id, "Bench", [key], scopes=("inventory",))
    with EmbeddedValkey(lab.directory / "valkey") as valkey:
        broker = {"REDIS_URL": valkey.url}
        own = {"DATABASE_URL": lab.postgres.server_url.rpartition("/")[0] + "/inventory"}
        with lab.server(command=("inventory",), settings=own | broker) as inventory:
            _stock(inventory.base_url, secret)
            remote = {
                "HOLDFAST_INVENTORY_URL": inventory.base_url,
                "HOLDFAST_INVENTORY_KEY": secret,
            }
            with lab.server(settings=remote | broker) as holds:
                yield TwoServices(holds, url)


def _stock(base_url: str, secret: str) -> None:
    request = Request(  # noqa: S310
        f"{base_url}/inventory/items/{SESSION_ID}/{ticket_type_id(1)}",
        data=json.dumps({"total": POOL_TOTAL}).encode(),
        method="PUT",
        headers={"Authorization": f"Bearer {secret}", "Content-Type": "application/json"},
    )
    with urlopen(request, timeout=10):  # noqa: S310
        pass
