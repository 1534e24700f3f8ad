"""The worker's consumer."""

from celery.worker.consumer import Consumer


class UndelayedConsumer(Consumer):  # type: ignore[misc]
    """Without delayed delivery, which we do not use: for quorum queues Celery would declare some
    thirty queues and exchanges for it."""

    class Blueprint(Consumer.Blueprint):  # type: ignore[misc]
        default_steps = [
            step for step in Consumer.Blueprint.default_steps if "delayed_delivery" not in step
        ]
