"""`holdfast relay`."""

import argparse

from holdfast.bootstrap.relay import relay_status, run_relay
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.cli.terminal import CommandFailed, needs_database, say, stop_signal
from holdfast.ports.facts.log import LogAhead


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "relay",
        help="publish facts to the broker",
        description="Publishes facts from the database of DATABASE_URL to RabbitMQ (AMQP_URL) or, "
        "without it, to Redis (REDIS_URL), until stopped by a signal. Several relays share the "
        "work.",
    )
    parser.add_argument(
        "--status", action="store_true", help="show the backlog and the relays' progress, and exit"
    )
    parser.set_defaults(run=run)


def run(settings: Settings, options: argparse.Namespace) -> int:
    if options.status:
        _show_status(settings)
        return 0
    run_relay(settings, stop_signal())
    return 0


def _show_status(settings: Settings) -> None:
    with needs_database("the outbox cannot be read"):
        try:
            lag, cursors = relay_status(settings)
        except LogAhead as error:
            raise CommandFailed(
                "this database was restored from another PostgreSQL: nothing is relayed until you "
                "run `holdfast migrate`, which gives its facts new positions"
            ) from error
    say(f"waiting         {lag.waiting}")
    say(f"oldest_seconds  {lag.oldest_seconds:.1f}")
    for cursor in cursors:
        position = f"{cursor.position.xid}.{cursor.position.seq}"
        say(f"partition {cursor.partition}     {position}  {cursor.moved_at:%Y-%m-%d %H:%M:%SZ}")
