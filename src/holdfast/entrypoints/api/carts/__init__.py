"""Carts."""
