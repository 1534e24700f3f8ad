"""Reading the seat map of a hall with 40,000 seats, half of them taken."""

from collections.abc import Sequence

from bench.hall import HOUSE_SESSION_ID, empty_halls
from bench.lab import Lab
from bench.load import read_script, run_wrk
from bench.placing import figure_of
from bench.results import Figure
from bench.rounds import Plan

CLIENTS = 64

HALF_TAKEN = """
UPDATE seat SET status = 'held', hold_id = id, holder_key = id, locked_at = now(),
    held_until = now() + interval '1 hour', changed_xid = pg_current_xact_id()
WHERE session_id = %s AND position %% 2 = 0
"""


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    empty_halls(lab)
    with lab.connected() as connection:
        connection.execute(HALF_TAKEN, [HOUSE_SESSION_ID])
        connection.execute("VACUUM (ANALYZE) seat")
    script = read_script(lab, f"/api/sessions/{HOUSE_SESSION_ID}/seats")
    runs = []
    with lab.server() as server:
        for number in range(plan.rounds):
            plan.log(f"map of 40,000 seats, round {number + 1} of {plan.rounds}")
            runs.append(run_wrk(lab, server, script, CLIENTS, plan.seconds))
    return [figure_of("map of 40,000 seats", CLIENTS, runs)]
