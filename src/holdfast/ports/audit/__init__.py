"""The audit log, refused attempts, and the integrity check."""
