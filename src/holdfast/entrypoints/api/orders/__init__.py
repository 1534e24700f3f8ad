"""Checkouts, payments and orders."""
