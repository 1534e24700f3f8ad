"""pgbench against our server with groups, and without (one command per transaction)."""

from collections.abc import Sequence

from bench.lab import Lab
from bench.placing import by_pgbench, by_server, figure_of
from bench.results import Figure
from bench.rounds import Plan, alternate

CLIENTS = (1, 16, 64, 256)
JUDGED_CLIENTS = 64
GROUPS_ON, GROUPS_OFF, PGBENCH = "groups on", "groups off", "pgbench"


def compare(
    lab: Lab, plan: Plan, name: str, *, is_hot: bool, must_at_64: float
) -> Sequence[Figure]:
    figures = []
    for clients in (JUDGED_CLIENTS,) if plan.is_quick else CLIENTS:
        contenders = {
            PGBENCH: by_pgbench(lab, plan, is_hot=is_hot, clients=clients),
            GROUPS_ON: by_server(lab, plan, is_hot=is_hot, clients=clients),
        }
        if not plan.is_quick:
            contenders[GROUPS_OFF] = by_server(
                lab, plan, is_hot=is_hot, clients=clients, group_max=1
            )
        measured = alternate(plan, f"{name}, {clients} clients", contenders)
        base = measured.of(PGBENCH)
        figures.append(figure_of(f"{name}, pgbench", clients, base))
        for contender in (GROUPS_OFF, GROUPS_ON):
            if contender in measured.runs:
                is_judged = contender == GROUPS_ON and clients == JUDGED_CLIENTS
                figures.append(
                    figure_of(
                        f"{name}, {contender}",
                        clients,
                        measured.of(contender),
                        versus=PGBENCH,
                        base=base,
                        must=must_at_64 if is_judged else None,
                    )
                )
    return figures
