"""`holdfast consume`."""

import argparse

from holdfast.bootstrap.consumers import run_consumers
from holdfast.bootstrap.privacy.addresses import refuse_missing_secrets
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.cli.terminal import stop_signal


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "consume",
        help="process confirmed orders, and send notices to buyers",
        description="Consumes messages from RabbitMQ (AMQP_URL) or, without it, from Redis "
        "(REDIS_URL), until stopped by a signal. Orders that another service has confirmed become "
        "orders here; facts become notices to buyers, sent as HOLDFAST_NOTIFIER says. Several "
        "consumers share the work. Messages are trusted: anyone who can publish to "
        "holdfast.inbound can sell every organization's holds.",
    )
    parser.set_defaults(run=run)


def run(settings: Settings, _options: argparse.Namespace) -> int:
    refuse_missing_secrets(settings)
    run_consumers(settings, stop_signal())
    return 0
