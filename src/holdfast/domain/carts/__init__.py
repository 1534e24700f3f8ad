"""Carts: each has at most one live hold."""
