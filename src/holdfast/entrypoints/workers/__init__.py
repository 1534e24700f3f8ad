"""Celery: background duties, scheduled by beat and run by workers. `holdfast worker` and `holdfast
beat` run them, and so does Celery's own command: `celery -A holdfast.entrypoints.workers`."""
