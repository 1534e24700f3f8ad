"""`holdfast inventory-check`."""

import argparse
from contextlib import closing

from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.entrypoints.cli.terminal import CommandFailed, say, uuid_argument
from holdfast.entrypoints.inventory.conformance.probe import Service
from holdfast.entrypoints.inventory.conformance.suite import (
    TICKETS_MAX,
    TICKETS_MIN,
    Result,
    Unsuitable,
    check_item,
    results,
)


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    check = commands.add_parser(
        "inventory-check",
        help="check whether a service keeps the contract of an Inventory Service",
        description="Makes every call of contracts/inventory.yaml to the service at URL, with the "
        "key in HOLDFAST_INVENTORY_KEY, and prints a line for each check. It holds, sells and "
        "gives back tickets of one ticket type, so choose one that nobody else sells. Exit "
        "code 0: the service keeps the contract; 1: it does not.",
    )
    check.add_argument("url", metavar="URL", help="such as http://127.0.0.1:8100")
    check.add_argument("--session", type=uuid_argument, required=True, help="the id of a session")
    check.add_argument(
        "--ticket-type",
        type=uuid_argument,
        required=True,
        help=f"the id of a ticket type in it, with {TICKETS_MIN} to {TICKETS_MAX} tickets left",
    )
    check.add_argument(
        "--other-ticket-type",
        type=uuid_argument,
        help="the id of another ticket type in it, with fewer than 100,000 tickets left, to check "
        "holds of several ticket types",
    )
    check.set_defaults(run=run)


def run(settings: Settings, options: argparse.Namespace) -> int:
    if settings.holdfast_inventory_key is None:
        raise SettingsError("HOLDFAST_INVENTORY_KEY: must be set to a key of the service at URL")
    item = (options.session, options.ticket_type, options.other_ticket_type)
    with closing(Service(options.url, settings.holdfast_inventory_key, *item)) as service:
        try:
            check_item(service)
        except Unsuitable as problem:
            raise CommandFailed(f"this ticket type cannot be used: {problem}") from None
        found = []
        for result in results(service):
            found.append(result)
            say(_line(result))
    failed = sum(result.problem is not None for result in found)
    say(f"{len(found)} checks, {failed} failed")
    return 1 if failed else 0


def _line(result: Result) -> str:
    if result.is_skipped:
        return f"skipped  {result.check}"
    if result.problem is None:
        return f"ok       {result.check}"
    return f"FAILED   {result.check}: {result.problem}"
