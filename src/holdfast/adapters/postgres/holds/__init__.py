"""Holds: reading, writing and counting them."""
