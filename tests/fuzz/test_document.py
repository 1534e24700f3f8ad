"""Generated requests, valid and invalid, in any order and along the links of the document. Each
gets a response that the OpenAPI document describes."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from requests import Response

from tests.fuzz.fuzzer import Fuzzer
from tests.fuzz.tally import say
from tests.support.databases import DatabaseFactory
from tests.support.servers import RunningServer

CASES, CASES_LONG = 500, 20_000
SEED = 1
SEAT_MAP, KEYS = "GET /api/sessions/{session_id}/seats", "POST /api/keys"


@pytest.fixture(scope="module")
def fuzzed(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    log = tmp_path_factory.mktemp("fuzzed") / "log"
    environment = {"HOLDFAST_LOG_LEVEL": "warning"}
    with RunningServer(databases.fresh(), log, environment) as running:
        yield running


@pytest.fixture
def fuzzer(fuzzed: RunningServer) -> Iterator[Fuzzer]:
    made = Fuzzer(fuzzed, SEED)
    yield made
    made.close()


@pytest.mark.parametrize(
    "cases",
    [CASES, pytest.param(CASES_LONG, marks=[pytest.mark.long, pytest.mark.timeout(7200)])],
)
def test_every_response_is_as_documented(
    fuzzer: Fuzzer, cases: int, capsys: pytest.CaptureFixture[str]
) -> None:
    is_long = cases == CASES_LONG
    with capsys.disabled() if is_long else nullcontext():
        try:
            fuzzer.run_operations(cases // 2)
            fuzzer.run_links(cases // 2)
        finally:  # also when somebody interrupts it
            say(fuzzer.tally.table())
    assert not fuzzer.tally.breaches, fuzzer.tally.findings()
    assert fuzzer.tally.total >= cases
    # A tenth of the cases on average, but chance decides.
    assert fuzzer.tally.links > cases / 50
    if is_long:
        assert fuzzer.operations.keys() - fuzzer.tally.successful == set()


def fail(response: Response) -> None:
    response.status_code = 500


def answer_with_a_status_of_its_own(response: Response) -> None:
    response.status_code = 418


def answer_html(response: Response) -> None:
    response.raw.headers["content-type"] = "text/html"


def leave_everything_out(response: Response) -> None:
    if response.ok:
        response._content = b"{}"


def vary_by_cookie(response: Response) -> None:
    if response.ok:
        response.raw.headers["vary"] = "cookie"


def accept_everything(response: Response) -> None:
    response.status_code = 201


@pytest.mark.parametrize(
    ("operation", "tamper", "title"),
    [
        (SEAT_MAP, fail, "Server error"),
        (SEAT_MAP, answer_with_a_status_of_its_own, "Undocumented status code"),
        (SEAT_MAP, answer_html, "Undocumented Content-Type"),
        (SEAT_MAP, leave_everything_out, "Response violates schema"),
        (SEAT_MAP, vary_by_cookie, "Response header does not conform to the schema"),
        (KEYS, accept_everything, "Schema-violating request accepted"),
    ],
)
def test_control_a_breach_is_reported(
    fuzzer: Fuzzer, operation: str, tamper: Callable[[Response], None], title: str
) -> None:
    def hook(response: Response, *_: Any, **__: Any) -> None:
        tamper(response)

    fuzzer.session.hooks["response"] = [hook]
    fuzzer.run_operations(30, only=[operation])
    assert (operation, title) in fuzzer.tally.breaches, fuzzer.tally.findings()
