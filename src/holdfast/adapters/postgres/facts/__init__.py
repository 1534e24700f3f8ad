"""The outbox and the inbox."""
