"""The conformance suite passes the services that keep the contract, and finds what is wrong with
others."""

import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from uuid import UUID

import pytest

from holdfast.entrypoints.inventory.conformance.probe import Service
from holdfast.entrypoints.inventory.conformance.suite import Result, results
from tests.inventory.another_service import KEY, AnotherService
from tests.inventory.store import Store, an_id
from tests.support.auditing import assert_sound
from tests.support.databases import own_environment
from tests.support.servers import ROOT, RunningServer

# What a service may get wrong, and a check that finds it.
FAULTS: Mapping[str, str] = {
    "oversells": "exactly as many succeed as there are tickets",
    "takes a repeat twice": "takes nothing more",
    "creates again": "answers 200 with the same reservation",
    "takes other lines": "is refused with 422",
    "counts its total": "the number left",
    "does not count": "the number left",
    "forgets releases": "After a release, hold and commit are refused",
    "forgets early releases": "A release that arrives before its hold wins",
    "does not know early releases": "A release that arrives before its hold wins",
    "releases what is sold": "After a commit, a release is refused",
    "sells the last quantity": "overtaken by one with fewer tickets",
    "keeps cancelled tickets": "puts the others on sale again",
    "forgets the hold": "recognized by what it asked for",
    "counts wrong": "A commit sells the tickets",
    "lists newest first": "oldest first",
    "has one page": "page by page",
    "asks for no key": "without a key",
    "sends plain errors": "is refused with",
    "checks no lines": "A field that breaks a rule",
}


def checked(another: AnotherService) -> list[Result]:
    ids = [UUID(each) for each in (another.session_id, *another.totals)]
    with another.running(), closing(Service(another.url, KEY, *ids)) as service:
        return list(results(service))


def test_a_service_that_keeps_the_contract_passes() -> None:
    found = checked(AnotherService())
    assert [each for each in found if each.problem or each.is_skipped] == []
    assert len(found) == 29


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    failed = [each for each in checked(AnotherService(fault)) if each.problem]
    assert any(FAULTS[fault] in each.check for each in failed), failed


def test_a_check_leaves_no_tickets_behind() -> None:
    """Even those that fail give everything back."""
    another = AnotherService("takes other lines")
    checked(another)
    assert [another._counts(each)["available"] for each in another.totals] == [12, 5]


def check_from_command_line(url: str, key: str, *ids: str) -> subprocess.CompletedProcess[str]:
    names = ("--session", "--ticket-type", "--other-ticket-type")
    named = [part for pair in zip(names, ids, strict=False) for part in pair]
    command = ["-m", "holdfast.entrypoints.cli.main", "inventory-check", url, *named]
    return subprocess.run(
        [sys.executable, *command],
        env=own_environment() | {"HOLDFAST_INVENTORY_KEY": key, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


class TestCommand:
    def test_holdfasts_own_service_passes(self, inventory: RunningServer, store: Store) -> None:
        other = an_id()
        store.stock(7, other)
        ids = (store.session_id, store.ticket_type_id, other)
        done = check_from_command_line(inventory.base_url, store.platform.secret_key, *ids)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.splitlines()[-1] == "29 checks, 0 failed"
        assert store.counts() == (10, 10, 0, 0)
        assert_sound(inventory.database_url)

    def test_one_ticket_type_is_enough(self, inventory: RunningServer, store: Store) -> None:
        ids = (store.session_id, store.ticket_type_id)
        done = check_from_command_line(inventory.base_url, store.platform.secret_key, *ids)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("\nskipped ") == 1

    def test_a_service_that_breaks_the_contract_fails(self) -> None:
        another = AnotherService("lists newest first")
        with another.running():
            ids = (another.session_id, next(iter(another.totals)))
            done = check_from_command_line(another.url, KEY, *ids)
        assert done.returncode == 1
        (failed,) = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
        assert "oldest first" in failed
        assert done.stdout.splitlines()[-1] == "29 checks, 1 failed"

    def test_an_item_with_too_few_tickets_is_no_use(
        self, inventory: RunningServer, store: Store
    ) -> None:
        store.stock(9)
        ids = (store.session_id, store.ticket_type_id)
        done = check_from_command_line(inventory.base_url, store.platform.secret_key, *ids)
        assert (done.returncode, done.stdout) == (1, "")
        assert "9 tickets are available; the checks need 10 to 99999" in done.stderr

    def test_it_needs_a_key(self) -> None:
        done = check_from_command_line("http://127.0.0.1:1", "", an_id(), an_id())
        assert done.returncode == 1
        assert done.stderr.startswith("holdfast: HOLDFAST_INVENTORY_KEY: must be set")
