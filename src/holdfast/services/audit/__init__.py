"""The audit log, the journal and the integrity check."""
