"""A thousand live holds against a million: the cost of a hold must stay flat."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from bench.lab import ORGANIZATION_ID, SESSION_ID, Lab, pool_id, ticket_type_id
from bench.placing import by_server, figure_of
from bench.results import Figure
from bench.rounds import Plan, alternate

FEW, MANY = 1_000, 1_000_000
CLIENTS = 64

# They end in an hour, over ten minutes, so that none lapses while we measure.
HOLD = """
COPY hold (organization_id, id, session_id, reference, customer_email, quantity, total_minor,
    currency, status, version, created_at, updated_at, held_at, expires_at) FROM STDIN
"""
LINES = """
INSERT INTO hold_line SELECT organization_id, id, 0, %s, 1, 4500, ARRAY[%s::uuid] FROM hold
"""
LAPSE = """
INSERT INTO pool_lapse SELECT organization_id, %s, expires_at, count(*) FROM hold GROUP BY 1, 3
"""


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    contenders = {
        f"{count:,} live holds": by_server(
            lab, plan, is_hot=True, clients=CLIENTS, prepare=_loaded(lab, plan, count)
        )
        for count in (FEW, MANY)
    }
    measured = alternate(plan, "live holds", contenders)
    few, many = (measured.of(name) for name in contenders)
    few_name, many_name = contenders
    return [
        figure_of(few_name, CLIENTS, few),
        figure_of(many_name, CLIENTS, many, versus=few_name, base=few, must=0.9),
    ]


def _loaded(lab: Lab, plan: Plan, count: int) -> Callable[[], None]:
    def load() -> None:
        lab.clear()
        plan.tell(f"loading {count:,} live holds")
        with lab.connected() as connection, connection.transaction():
            row = connection.execute(
                "SELECT now(), date_trunc('second', now()) + interval '1 hour'"
            ).fetchone()
            assert row is not None
            now, end = row
            with connection.cursor().copy(HOLD) as copy:
                for number in range(count):
                    copy.write(_line(number, now.isoformat(), end.timestamp() + number % 600))
            connection.execute(LINES, (ticket_type_id(1), pool_id(1)))
            connection.execute(LAPSE, (pool_id(1),))
            connection.execute("UPDATE pool SET held = %s WHERE id = %s", (count, pool_id(1)))
        with lab.connected() as connection:
            connection.execute("VACUUM ANALYZE hold")
            connection.execute("VACUUM ANALYZE hold_line")
        lab.checkpoint()

    return load


def _line(number: int, now: str, end: float) -> str:
    expires_at = datetime.fromtimestamp(end, UTC).isoformat()
    return (
        f"{ORGANIZATION_ID}\tb0000000-0000-4000-8005-{number:012x}\t{SESSION_ID}\tL{number}\t"
        f"live{number}@example.com\t1\t4500\tEUR\tactive\t1\t{now}\t{now}\t{now}\t{expires_at}\n"
    )
