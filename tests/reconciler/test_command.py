"""`holdfast reconcile`: its output, its effects and its exit codes."""

import subprocess

import pytest

from holdfast.entrypoints.cli.inventory import reconcile as reconcile_command
from holdfast.ports.inventory.reconciliation import Compared
from tests.reconciler.pair import Pair
from tests.reconciler.test_comparison import reserve_for_nobody
from tests.support.databases import server_url
from tests.support.inventory_service import KEY
from tests.workers.commands import run_command

NOWHERE = "http://127.0.0.1:1"


def reconcile(pair: Pair, *arguments: str, url: str = "") -> "subprocess.CompletedProcess[str]":
    return run_command(
        "reconcile",
        *arguments,
        DATABASE_URL=server_url(pair.world.url),
        HOLDFAST_INVENTORY_URL=url or pair.service.url,
        HOLDFAST_INVENTORY_KEY=KEY,
    )


def test_services_that_agree(pair: Pair) -> None:
    pair.placed()
    done = reconcile(pair, "--check")
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "Compared 1 reservation(s) and 1 hold(s): 0 difference(s), 0 mended.",
            "Both services agree.",
        ],
    )


def test_a_check_lists_what_a_fix_mends(pair: Pair) -> None:
    orphan = reserve_for_nobody(pair, pair.venue.session_id)
    lost = pair.placed()
    pair.service.forget(lost.id)
    owner = f"organization {pair.venue.organization_id}"
    check = reconcile(pair, "--check")
    assert check.returncode == 1
    assert check.stdout.splitlines() == [
        f"{orphan}  unknown organization  unknown here, held there",
        f"{lost.id}  {owner}  active here, unknown there",
        "Compared 1 reservation(s) and 1 hold(s): 2 difference(s), 0 mended.",
        "They do not agree.",
    ]
    assert pair.service.status(orphan) == "held"
    fix = reconcile(pair, "--fix")
    assert fix.returncode == 0, fix.stdout
    assert fix.stdout.splitlines() == [
        f"{orphan}  unknown organization  unknown here, held there -> released there",
        f"{lost.id}  {owner}  active here, unknown there -> reserved there",
        "Compared 1 reservation(s) and 1 hold(s): 2 difference(s), 2 mended.",
        "Both services agree.",
    ]
    assert (pair.service.status(orphan), pair.service.status(lost.id)) == ("released", "held")
    assert reconcile(pair, "--check").returncode == 0


def test_a_fix_finishes_what_is_due(pair: Pair) -> None:
    hold = pair.placed()
    pair.released(hold)
    assert "1 hold(s) are being settled" in reconcile(pair, "--check").stdout
    pair.make_due()
    fix = reconcile(pair, "--fix")
    assert fix.returncode == 0
    assert fix.stdout.splitlines()[0] == "... 1 hold(s) released there"
    assert not pair.tasks()


def test_what_needs_a_person_is_listed_until_it_is_resolved(pair: Pair) -> None:
    hold = pair.placed()
    pair.released(hold)
    pair.service.kept[str(hold.id)].status = "committed"
    pair.make_due()
    for how in ("--fix", "--check", "--fix"):
        done = reconcile(pair, how)
        assert done.returncode == 1
        assert f"{hold.id}  organization {hold.organization_id}  cancelled here" in done.stdout
    other = pair.world.venue({"floor": 1}, {"standing": ("floor",)})
    of_other = reconcile(pair, "--check", "--organization", str(other.organization_id))
    assert of_other.returncode == 0, of_other.stdout


def test_an_unavailable_service_is_reported_in_one_line(pair: Pair) -> None:
    done = reconcile(pair, "--check", url=NOWHERE)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last == ("holdfast: the Inventory Service could not be asked: it cannot be reached")


@pytest.mark.parametrize("arguments", [(), ("--check", "--fix")])
def test_it_has_to_be_told_what_to_do(pair: Pair, arguments: tuple[str, ...]) -> None:
    assert reconcile(pair, *arguments).returncode == 2


def test_it_needs_an_inventory_service(pair: Pair) -> None:
    done = run_command("reconcile", "--check", DATABASE_URL=server_url(pair.world.url))
    assert done.returncode == 1
    assert "HOLDFAST_INVENTORY_URL: must be set" in done.stderr


def test_a_person_at_a_terminal_sees_the_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile_command, "PROGRESS_SECONDS", 0.0)
    report = reconcile_command.Report()
    report(Compared(reservations=1_200, holds=30))
    assert capsys.readouterr().out == "", "nobody is watching"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    report(Compared(reservations=1_200, holds=30))
    assert capsys.readouterr().out == "... 1,200 reservation(s), 30 hold(s) compared\n"
