"""The tasks of workers."""

import time
from typing import Any

import structlog
from celery import Celery, Task
from celery.exceptions import Reject
from celery.signals import worker_process_init, worker_process_shutdown

from holdfast.bootstrap.consumers import CONSUMPTION
from holdfast.bootstrap.duties import (
    SHARED_DUTIES,
    BeatTask,
    DutyThread,
    TaskQueue,
    journal_duty,
)
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings

ATTEMPTS_MAX = 3
PAUSE_SECONDS = 1.0
# The longest wait for the next run, which continues where this one stopped.
SHORT_LIMITS = {"soft_time_limit": 240, "time_limit": 270}

TASKS: tuple[BeatTask, ...] = (*SHARED_DUTIES, CONSUMPTION)

log = structlog.get_logger("holdfast.tasks")


class DutyTask(Task):  # type: ignore[misc]
    """Tried three times in all. The broker counts, which includes attempts of workers that died."""

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        attempt = 1 + int(self.request.get("x-delivery-count") or 0)
        if attempt >= ATTEMPTS_MAX:
            log.warning("task.last_attempt", task=self.name, attempt=attempt)
        try:
            self.run(*args, **kwargs)
        except Exception as error:
            is_last = attempt >= ATTEMPTS_MAX
            (log.error if is_last else log.warning)(
                "task.given_up" if is_last else "task.failed",
                task=self.name,
                attempt=attempt,
                problem=type(error).__name__,
            )
            if not is_last:
                time.sleep(PAUSE_SECONDS * attempt)
            raise Reject(type(error).__name__, requeue=not is_last) from error


def register_tasks(app: Celery, settings: Settings) -> None:
    """Register the tasks, and an engine for each worker process. It is created after the fork,
    which threads and connections do not survive."""
    rooms: list[EngineRoom] = []

    def start(**_: object) -> None:
        room = EngineRoom(settings)
        rooms.append(room)
        room.start()
        # Ends with the process, after `stop` has written the rest.
        DutyThread(journal_duty(room.journal)).start()

    def stop(**_: object) -> None:
        rooms.pop().stop()

    worker_process_init.connect(start, weak=False)
    worker_process_shutdown.connect(stop, weak=False)

    def register(task: BeatTask) -> None:
        limits = {} if task.queue is TaskQueue.DEFAULT else SHORT_LIMITS

        @app.task(base=DutyTask, name=task.task, **limits)  # type: ignore[untyped-decorator]
        def run() -> None:
            task.complete(rooms[0])

    for task in TASKS:
        register(task)
