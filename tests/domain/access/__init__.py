"""Rules of credentials."""
