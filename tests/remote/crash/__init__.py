"""Either service, the broker and either database killed at every step: both services agree again
within a minute."""
