"""Celery: duties that workers do, sent by beat."""
