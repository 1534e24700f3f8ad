"""Checkouts and orders."""
