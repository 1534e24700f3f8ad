"""Holds at the command line."""
