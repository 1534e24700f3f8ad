"""Celery: background duties, scheduled by beat and run by workers."""
