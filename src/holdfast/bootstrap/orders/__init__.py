"""Orders at the command line."""
