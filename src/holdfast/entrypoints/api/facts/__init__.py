"""The log of facts."""
