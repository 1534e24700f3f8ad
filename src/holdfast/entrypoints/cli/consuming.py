"""`holdfast consume`."""

import argparse
import signal
from threading import Event

from holdfast.bootstrap.consuming import run_consumers
from holdfast.bootstrap.settings import Settings


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
    stopped = Event()
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: stopped.set())
    run_consumers(settings, stopped)
    return 0
