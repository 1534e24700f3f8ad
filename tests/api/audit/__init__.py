"""The audit log, over the API."""
