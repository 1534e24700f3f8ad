"""HTTP: routing, parsing, problems, idempotency and replies."""
