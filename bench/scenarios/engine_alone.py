"""The engine on PostgreSQL without HTTP, to show the cost of HTTP."""

import time
from collections.abc import Sequence
from uuid import uuid4

from bench.lab import ORGANIZATION_ID, SESSION_ID, Lab, ticket_type_id
from bench.results import Figure, median, relative_spread
from bench.rounds import Plan
from holdfast.adapters.postgres.engine.store import PostgresStore
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import Ask
from holdfast.domain.ids import HoldId, OrganizationId, SessionId, TicketTypeId
from holdfast.domain.values import EmailAddress, Holder, Quantity
from holdfast.engine import Admission, Limits

COMMANDS = 6_000
BODY = b"201" + b"x" * 600
ORIGIN = Origin("bench", str(uuid4()), "127.0.0.1", "bench")


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    rates = []
    for number in range(plan.rounds):
        plan.log(f"engine alone, round {number + 1} of {plan.rounds}")
        lab.clear()
        engine = Admission(
            PostgresStore(lab.url), Limits(queue_max=4 * COMMANDS, deadline_seconds=60)
        )
        engine.start()
        commands = [_command(n) for n in range(COMMANDS)]
        started = time.perf_counter()
        futures = [engine.submit(command, lambda _: BODY) for command in commands]
        for future in futures:
            future.result()
        rates.append(COMMANDS / (time.perf_counter() - started))
        engine.stop()
    return [Figure("engine alone, hot pool", 1, median(rates), spread=relative_spread(rates))]


def _command(number: int) -> PlaceHold:
    organization_id = OrganizationId(ORGANIZATION_ID)
    return PlaceHold(
        organization_id,
        SessionId(SESSION_ID),
        HoldId(uuid4()),
        Holder(EmailAddress(f"buyer{number}@example.com")),
        (Ask(TicketTypeId(ticket_type_id(1)), Quantity(1)),),
        ORIGIN,
        IdempotencyKey(organization_id, uuid4(), b"x" * 32),
    )
