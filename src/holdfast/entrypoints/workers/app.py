"""The Celery application: its quorum queues, and beat's schedule.

A task is acknowledged when it is done. If a worker dies, the broker requeues its task and counts
the attempt, so the limit holds however an attempt ends.
"""

from typing import Any

from celery import Celery
from celery.signals import setup_logging
from kombu.entity import Exchange, Queue

from holdfast.bootstrap.brokers import celery_tls
from holdfast.bootstrap.duties import TaskQueue
from holdfast.bootstrap.logs import configure_logs
from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.entrypoints.workers.tasks import ATTEMPTS_MAX, TASKS, register_tasks

# Below RabbitMQ's limit of half an hour for unacknowledged tasks.
SOFT_LIMIT_SECONDS = 1_500
HARD_LIMIT_SECONDS = 1_560


def create_app(settings: Settings) -> Celery:
    if settings.amqp_url is None:
        raise SettingsError("AMQP_URL: must be set for workers and beat")
    app = Celery("holdfast", broker=settings.amqp_url, set_as_current=False)
    app.conf.update(
        task_queues=[_queue(queue.value) for queue in TaskQueue],
        task_default_queue=TaskQueue.DEFAULT.value,
        task_create_missing_queues=False,
        task_routes={task.task: {"queue": task.queue.value} for task in TASKS},
        beat_schedule=_schedule(settings),
        # The database shows what is due: beat keeps no state across restarts.
        beat_scheduler="celery.beat:Scheduler",
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_acks_on_failure_or_timeout=False,
        task_ignore_result=True,
        task_soft_time_limit=SOFT_LIMIT_SECONDS,
        task_time_limit=HARD_LIMIT_SECONDS,
        task_serializer="json",
        accept_content=["json"],
        worker_prefetch_multiplier=1,
        worker_concurrency=1,
        worker_consumer="holdfast.entrypoints.workers.consumer:LeanConsumer",
        worker_proc_alive_timeout=60,
        # Workers need neither each other nor remote control.
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        broker_use_ssl=celery_tls(settings.amqp_url),
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={"confirm_publish": True},
        task_publish_retry_policy={"max_retries": 3, "interval_start": 0.2, "interval_step": 0.5},
    )
    register_tasks(app, settings)
    setup_logging.connect(lambda **_: configure_logs(settings), weak=False)
    return app


def _queue(name: str) -> Queue:
    exchange = Exchange("holdfast.tasks", type="direct")  # type: ignore[no-untyped-call]
    arguments = {"x-queue-type": "quorum", "x-delivery-limit": ATTEMPTS_MAX - 1}
    return Queue(  # type: ignore[no-untyped-call]
        name, exchange, routing_key=name, queue_arguments=arguments
    )


def _schedule(settings: Settings) -> dict[str, dict[str, Any]]:
    """A message expires when the next one is sent, so no backlog builds up."""
    intervals = {task.task: task.beat_seconds(settings) for task in TASKS}
    return {
        task: {"task": task, "schedule": seconds, "options": {"expires": seconds}}
        for task, seconds in intervals.items()
        if seconds
    }
