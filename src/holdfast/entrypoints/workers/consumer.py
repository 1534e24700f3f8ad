"""The worker's consumer."""

from typing import Any

from celery.worker.consumer import Consumer


class LeanConsumer(Consumer):  # type: ignore[misc]
    """Without what we do not use, whichever command starts the worker: workers need not know each
    other, and for delayed delivery Celery would declare some thirty queues and exchanges."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "without_gossip": True, "without_mingle": True})

    class Blueprint(Consumer.Blueprint):  # type: ignore[misc]
        default_steps = [
            step for step in Consumer.Blueprint.default_steps if "delayed_delivery" not in step
        ]
