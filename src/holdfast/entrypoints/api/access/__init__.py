"""Authentication of callers, and delays for refused ones."""
