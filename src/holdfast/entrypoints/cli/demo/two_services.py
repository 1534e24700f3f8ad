"""`holdfast demo-services`: a Hold Service and an Inventory Service, with RabbitMQ between them."""

import argparse
from importlib.resources import files

import msgspec

from holdfast.bootstrap.database import MigrationBusy
from holdfast.bootstrap.demo.two_services import (
    EmbeddedServiceError,
    Facts,
    keep_running,
    two_services,
)
from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.entrypoints.cli.serve import refuse_taken_port
from holdfast.entrypoints.cli.terminal import CommandFailed, say, stop_signal

INVENTORY_PORT = 8100


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "demo-services",
        help="run a Hold Service and an Inventory Service, with tickets on sale",
        description="Starts its own PostgreSQL, Valkey and RabbitMQ in HOLDFAST_HOME (unless "
        "REDIS_URL and AMQP_URL are set), a Hold Service on HOLDFAST_PORT, and the Inventory "
        "Service that counts its tickets. A service that you kill starts again after five seconds. "
        "RabbitMQ is the system's or, on Debian and its derivatives, downloaded. Ctrl-C stops "
        "everything; the data stays.",
    )
    parser.add_argument(
        "--inventory-port",
        type=int,
        default=INVENTORY_PORT,
        metavar="PORT",
        help="the port of the Inventory Service (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(settings: Settings, options: argparse.Namespace) -> int:
    if settings.database_url is not None or settings.holdfast_inventory_url is not None:
        raise SettingsError(
            "DATABASE_URL and HOLDFAST_INVENTORY_URL: unset them, because this demo starts its own "
            "services"
        )
    refuse_taken_port(settings)
    of_inventory = msgspec.structs.replace(settings, holdfast_port=options.inventory_port)
    refuse_taken_port(of_inventory, "--inventory-port")
    stopped = stop_signal()
    try:
        with two_services(settings, options.inventory_port, say) as (facts, processes):
            say(_welcome(facts))
            keep_running(processes, stopped, say)
            say("Stopping ...")
    except (EmbeddedServiceError, MigrationBusy) as error:
        raise CommandFailed(str(error)) from error
    except OSError as error:
        raise CommandFailed(f"HOLDFAST_HOME: {error.strerror}") from error
    return 0


def _welcome(facts: Facts) -> str:
    text = files("holdfast.entrypoints.cli.demo").joinpath("two_services.txt").read_text()
    return "\n" + text % facts
