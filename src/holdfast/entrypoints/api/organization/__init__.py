"""The caller's own organization."""
