"""The engine's store: one transaction per group."""
