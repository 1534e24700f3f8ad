"""`holdfast audit`."""

import argparse

from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.cli.terminal import needs_database, say
from holdfast.ports.audit.books import Checked


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "audit",
        help="check the integrity of the database",
        description="Checks the database of DATABASE_URL for damage: counters that differ from "
        "their rows, seats both held and sold, holds long past their expiry, changes without a "
        "fact. All checks use one snapshot, so sales can continue. Exit code 0: no damage; 1: "
        "damage was found, or the database could not be read.",
    )
    parser.set_defaults(run=run)


def run(settings: Settings, _options: argparse.Namespace) -> int:
    checks = []
    with needs_database("the database could not be read"):
        # Needs neither engine nor readers, so nothing is started.
        for check in EngineRoom(settings).book_audit.checked():
            checks.append(check)
            _show(check)
    unsound = sum(check.found > 0 for check in checks)
    rows, seconds = sum(check.rows for check in checks), sum(check.seconds for check in checks)
    say(f"\n{len(checks)} checks, {rows:,} rows, {seconds:.2f} s.")
    say("All checks passed." if not unsound else f"{unsound} of them found damage.")
    return 1 if unsound else 0


def _show(check: Checked) -> None:
    result = "ok" if not check.found else f"FOUND {check.found:,}"
    say(f"{result:<12} {check.rows:>12,} rows {check.seconds:>8.3f} s  {check.looks_for}")
    for example in check.examples:
        say(f"{'':<12} {example}")
