"""`holdfast inventory`."""

import argparse

from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.entrypoints.cli.serve import refuse_taken_port
from holdfast.entrypoints.cli.serve import serve as serve_part


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "inventory",
        help="serve the Inventory Service",
        description="Serves the inventory of a Hold Service on HOLDFAST_HOST:HOLDFAST_PORT with "
        "HOLDFAST_PROCESSES processes, on a database of its own (DATABASE_URL). With a broker "
        "(AMQP_URL or REDIS_URL), it also follows the facts of the Hold Service.",
    )
    parser.set_defaults(run=serve)


def serve(settings: Settings, _options: argparse.Namespace) -> int:
    if settings.database_url is None:
        raise SettingsError("DATABASE_URL: must be set")
    if settings.holdfast_inventory_url is not None:
        # Probably the environment of the Hold Service, with its database.
        raise SettingsError("HOLDFAST_INVENTORY_URL: is for the Hold Service only; unset it here")
    refuse_taken_port(settings)
    serve_part(settings, "inventory")
    return 0
