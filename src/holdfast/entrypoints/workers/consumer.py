"""How a worker listens to RabbitMQ."""

from celery.worker.consumer import Consumer


class UndelayedConsumer(Consumer):  # type: ignore[misc]
    """For quorum queues Celery would declare some thirty queues and exchanges with which tasks can
    be put off. None of ours ever is."""

    class Blueprint(Consumer.Blueprint):  # type: ignore[misc]
        default_steps = [
            step for step in Consumer.Blueprint.default_steps if "delayed_delivery" not in step
        ]
