"""`holdfast consume`."""

import argparse

from holdfast.bootstrap.consumers import run_consumers
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.cli.terminal import stop_signal


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "consume",
        help="take in confirmed orders, and send notices to buyers",
        description="Reads from RabbitMQ (AMQP_URL) or, without one, from Redis (REDIS_URL), until "
        "a signal ends it: orders that another service has confirmed, which become orders here, "
        "and our own facts, of which buyers are told as HOLDFAST_NOTIFIER says. Several of them "
        "share the work. A message says whose holds were paid, and is believed: let nobody "
        "publish to holdfast.inbound who may not sell them.",
    )
    parser.set_defaults(run=run)


def run(settings: Settings, _options: argparse.Namespace) -> int:
    run_consumers(settings, stop_signal())
    return 0
