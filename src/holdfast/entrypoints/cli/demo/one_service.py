"""`holdfast demo`: everything on embedded services, with a sample sale."""

import argparse
from contextlib import ExitStack
from importlib.resources import files
from typing import Any

import psycopg

from holdfast.bootstrap.database import MigrationBusy
from holdfast.bootstrap.demo.setup import (
    EmbeddedServiceError,
    erase,
    kept_files,
    load_sale,
    start_services,
)
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.cli.serve import refuse_taken_port, serve
from holdfast.entrypoints.cli.terminal import CommandFailed, add_yes, confirm, say
from holdfast.ports.store import StoreError


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "demo",
        help="run everything on embedded services, with a demo sale loaded",
        description="Starts its own PostgreSQL and Valkey in HOLDFAST_HOME (unless DATABASE_URL "
        "and REDIS_URL are set), migrates, loads a demo organization, and serves it with all "
        "background duties, simulated payments, and notices to buyers on the terminal. Ctrl-C "
        "stops everything; the data stays.",
    )
    parser.add_argument(
        "--reset",
        action="store_true",
        help="first delete the demo's data in HOLDFAST_HOME (holds, orders, keys, users), "
        "after asking",
    )
    add_yes(parser)
    parser.set_defaults(run=run)


def run(settings: Settings, options: argparse.Namespace) -> int:
    refuse_taken_port(settings)
    if options.reset:
        _reset(settings, options)
    with ExitStack() as running:
        try:
            settings = start_services(settings, running, say)
            demo = load_sale(settings, say)
        except (EmbeddedServiceError, MigrationBusy) as error:
            raise CommandFailed(str(error)) from error
        except OSError as error:
            raise CommandFailed(f"HOLDFAST_HOME: {error.strerror}") from error
        except (psycopg.Error, StoreError) as error:
            raise CommandFailed(
                "DATABASE_URL: PostgreSQL cannot be reached, or refuses this login"
            ) from error
        say(_welcome(settings, demo))
        serve(settings, "all")
        say("Stopping ...")
    return 0


def _reset(settings: Settings, options: argparse.Namespace) -> None:
    if settings.database_url is not None or settings.redis_url is not None:
        raise CommandFailed(
            "--reset deletes the data of the embedded services only: unset DATABASE_URL and "
            "REDIS_URL. Nothing was deleted."
        )
    files = kept_files(settings)
    if not files:
        say("There is nothing to delete.")
        return
    listed = "".join(f"\n  {path}" for path in files)
    confirm(f"This deletes the demo's data for good:{listed}\nDelete it?", options)
    try:
        erase(settings)
    except EmbeddedServiceError as error:
        raise CommandFailed(f"{error} Nothing was deleted. Stop the demo first.") from error
    say("Deleted.")


def _welcome(settings: Settings, demo: dict[str, Any]) -> str:
    text = files("holdfast.entrypoints.cli.demo").joinpath("one_service.txt").read_text()
    return "\n" + text % {**demo, "demo_file": settings.home / "demo.json"}
