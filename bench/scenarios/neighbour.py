"""The latency of one organization while another sends as many requests as it can."""

import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import count
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from bench.cost.figures import median_cost
from bench.lab import EVENT_ID, ORGANIZATION_ID, SESSION_ID, Lab, RunningServer, ticket_type_id
from bench.load import (
    LoadRun,
    place_script,
    post_script,
    read_script,
    run_wrk,
    unknown_keys_script,
)
from bench.loading import load_holds
from bench.results import Figure, median, relative_spread
from bench.rounds import Plan, alternate

VICTIM_ID = UUID("b0000000-0000-4000-8000-000000000101")
VICTIM_CLIENTS = 4
VICTIM_PAUSE_MS = 20
WARM_UP_SECONDS = 1
# On a shared machine, most of the slowest holds were delayed by the machine. Many short rounds,
# each compared with the measurement alone in the same round, show the neighbour's effect.
SECONDS = 5
ROUNDS_MIN = 7
# The 99th percentile beside a busy neighbour, relative to the one alone.
AT_MOST = 2.0

SEATS = 50_000
SEATS_PER_ROW = 50
TICKETS = 10_000
# The holds that the statistics count.
HOLDS = 100_000
ALONE = "alone"
# The control: the effect of any busy program on the same machine.
BUSY_PROGRAM = "a program that only computes"
# Shares groups with the victim's holds, so their latency is that of a larger group.
RUSH = "a rush of holds"
CLIENTS = 30
UNKNOWN_CLIENTS = 600
HOURS = 168
RUSH_CLIENTS = 64

SIGN_IN = f'{{"organization_id":"{ORGANIZATION_ID}","username":"nobody%d","password":"wrong"}}'
NEW_BUYER = '{"user_id":"buyer%d"}'
INVALID_HOLD = '{"session_id":"%d","quantity":-1,"customer_email":"nobody"}'

Attack = Callable[[], AbstractContextManager[None]]


class Attacker:
    """The other organization, on its own connections."""

    def __init__(self, server: RunningServer, secret_key: str) -> None:
        self._address = urlsplit(server.base_url).netloc
        self._headers = {"Authorization": f"Bearer {secret_key}"}
        self._stopped = threading.Event()
        self._numbers = count()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._address, timeout=60)

    def post(
        self, connection: http.client.HTTPConnection, path: str, body: str, kind: str = "json"
    ) -> tuple[int, bytes]:
        content_type = "text/csv" if kind == "csv" else "application/json"
        headers = self._headers | {"Content-Type": content_type}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def confirm_large_hold(self, connection: http.client.HTTPConnection) -> None:
        asked = {
            "session_id": str(SESSION_ID),
            "ticket_type_id": str(ticket_type_id(1)),
            "quantity": TICKETS,
            "customer_email": f"agency{next(self._numbers)}@example.com",
        }
        status, body = self.post(connection, "/api/holds", json.dumps(asked))
        if status == http.HTTPStatus.CREATED:
            hold_id = json.loads(body)["hold_id"]
            paid = json.dumps({"payment_reference": str(uuid4())})
            self.post(connection, f"/api/holds/{hold_id}/confirm", paid)

    def import_hall(self, connection: http.client.HTTPConnection) -> str:
        session = {"event_id": str(EVENT_ID), "name": "Hall"}
        status, body = self.post(connection, "/api/sessions", json.dumps(session))
        assert status == http.HTTPStatus.CREATED, body
        session_id = str(json.loads(body)["session_id"])
        self.post(connection, f"/api/sessions/{session_id}/seats", _CSV, kind="csv")
        return session_id

    @contextmanager
    def repeating(
        self, clients: int, act: Callable[[http.client.HTTPConnection], object]
    ) -> Iterator[None]:
        self._stopped.clear()
        threads = [threading.Thread(target=self._repeat, args=(act,)) for _ in range(clients)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            for thread in threads:
                thread.join()

    def _repeat(self, act: Callable[[http.client.HTTPConnection], object]) -> None:
        _run_like_another_machine()
        connection = self.connect()
        while not self._stopped.is_set():
            try:
                act(connection)
            except (OSError, http.client.HTTPException):
                connection.close()  # the next request reconnects
        connection.close()


def _csv() -> str:
    seats = (f"Stalls,{n // SEATS_PER_ROW},{n % SEATS_PER_ROW + 1}" for n in range(SEATS))
    return "\n".join(("block,row,number", *seats))


_CSV = _csv()


def run(lab: Lab, plan: Plan) -> Sequence[Figure]:
    lab.clear()
    victim_key = lab.add_organization(VICTIM_ID, pools=1)
    load_holds(lab, HOLDS, ends_in_seconds=3_600)
    seeds = count(1)

    with lab.server() as server:

        def hold(seconds: float) -> LoadRun:
            script = place_script(
                lab, is_hot=True, pause_ms=VICTIM_PAUSE_MS, seed=next(seeds), key=victim_key
            )
            seen = run_wrk(lab, server, script, VICTIM_CLIENTS, seconds)
            if seen.rate:
                return seen
            starved_ms = 1_000 * seconds
            return replace(seen, p50_ms=starved_ms, p95_ms=starved_ms, p99_ms=starved_ms)

        def beside(attack: Attack) -> LoadRun:
            with attack():
                hold(WARM_UP_SECONDS)
                return hold(SECONDS)

        attacks = _attacks(lab, server)
        contenders = {name: partial(beside, attack) for name, attack in attacks.items()}
        rounds = max(plan.rounds, ROUNDS_MIN)
        runs = alternate(replace(plan, rounds=rounds), "holds", contenders)
    alone = runs.of(ALONE)
    return [_figure(name, runs.of(name), None if name == ALONE else alone) for name in attacks]


def _attacks(lab: Lab, server: RunningServer) -> Mapping[str, Attack]:
    attacker = Attacker(server, lab.secret_key)
    hall = attacker.import_hall(attacker.connect())
    changes = read_script(lab, f"/api/sessions/{hall}/seats?since=", numbers=CLIENTS)
    statistics = read_script(lab, "/api/stats?hours=", numbers=HOURS)
    audit = read_script(lab, "/api/audit?limit=100")
    rush = place_script(lab, is_hot=True)
    invalid = post_script("/api/holds", INVALID_HOLD, lab.secret_key)
    tokens = post_script("/api/holder-tokens", NEW_BUYER, lab.secret_key)
    passwords = post_script("/api/member-sessions", SIGN_IN)

    @contextmanager
    def by_wrk(script: str, clients: int) -> Iterator[None]:
        # wrk runs a little longer than the measurement of the victim.
        seconds = SECONDS + 2 * WARM_UP_SECONDS
        with ThreadPoolExecutor(1, initializer=_run_like_another_machine) as background:
            background.submit(run_wrk, lab, server, script, clients, seconds)
            yield

    return {
        ALONE: nullcontext,
        BUSY_PROGRAM: _computing,
        "confirms of 10,000 tickets": partial(attacker.repeating, 6, attacker.confirm_large_hold),
        "changes of 50,000 seats": partial(by_wrk, changes, CLIENTS),
        "imports of 50,000 seats": partial(attacker.repeating, 4, attacker.import_hall),
        "statistics": partial(by_wrk, statistics, CLIENTS),
        "unknown keys": partial(by_wrk, unknown_keys_script(), UNKNOWN_CLIENTS),
        "wrong passwords": partial(by_wrk, passwords, CLIENTS),
        RUSH: partial(by_wrk, rush, RUSH_CLIENTS),
        "invalid holds": partial(by_wrk, invalid, RUSH_CLIENTS),
        "new holder tokens": partial(by_wrk, tokens, CLIENTS),
        "reads of the audit log": partial(by_wrk, audit, CLIENTS),
    }


def _run_like_another_machine() -> None:
    """The server and the victim go first: a busy neighbour has a machine of its own."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)


@contextmanager
def _computing() -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as program:
        try:
            yield
        finally:
            program.kill()


def _ratio(runs: Sequence[LoadRun], alone: Sequence[LoadRun]) -> float:
    return median([run.p99_ms / base.p99_ms for run, base in zip(runs, alone, strict=True)])


def _figure(name: str, runs: Sequence[LoadRun], alone: Sequence[LoadRun] | None) -> Figure:
    refused = sum(run.refused + run.broken for run in runs)
    return Figure(
        f"holds {name}" if alone is None else f"beside {name}",
        VICTIM_CLIENTS,
        median([run.rate for run in runs]),
        spread=relative_spread([run.p99_ms for run in runs]),
        versus=None if alone is None else "p99 alone",
        p99_ratio=None if alone is None else _ratio(runs, alone),
        at_most=None if name in (ALONE, BUSY_PROGRAM, RUSH) else AT_MOST,
        p50_ms=median([run.p50_ms for run in runs]),
        p95_ms=median([run.p95_ms for run in runs]),
        p99_ms=median([run.p99_ms for run in runs]),
        note=f" {refused} refused or broken" if refused else "",
        # Beside a neighbour, its requests cost too.
        cost=median_cost([run.cost for run in runs if run.cost]) if alone is None else None,
    )
