"""The audit log and the integrity check."""
