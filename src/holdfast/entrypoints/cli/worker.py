"""`holdfast worker` and `holdfast beat`."""

import argparse

import structlog

from holdfast.bootstrap.duties import TaskQueue
from holdfast.bootstrap.privacy.addresses import refuse_missing_secrets
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.workers.app import create_app

log = structlog.get_logger()

_QUEUES = {queue.name.lower(): queue.value for queue in TaskQueue}


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    worker = commands.add_parser(
        "worker",
        help="run the background duties that beat schedules",
        description="Runs tasks from RabbitMQ (AMQP_URL), one at a time, until stopped by a "
        "signal. Start several workers to run more.",
    )
    worker.add_argument("--queue", choices=_QUEUES, help="run only tasks of this queue")
    worker.set_defaults(run=run_worker)
    beat = commands.add_parser(
        "beat",
        help="schedule the background duties",
        description="Sends tasks to RabbitMQ (AMQP_URL) until stopped by a signal. Run only one: a "
        "second one sends every task twice, which is harmless.",
    )
    beat.set_defaults(run=run_beat)


def run_worker(settings: Settings, options: argparse.Namespace) -> int:
    refuse_missing_secrets(settings)  # now, not in a child process
    queues = list(_QUEUES.values()) if options.queue is None else [_QUEUES[options.queue]]
    worker = create_app(settings).Worker(pool="prefork", queues=queues, quiet=True)
    worker.start()
    return int(worker.exitcode or 0)


def run_beat(settings: Settings, _options: argparse.Namespace) -> int:
    app = create_app(settings)
    seconds = {entry["task"]: entry["schedule"] for entry in app.conf.beat_schedule.values()}
    log.info("beat.started", seconds=seconds)
    app.Beat(quiet=True).run()
    return 0
