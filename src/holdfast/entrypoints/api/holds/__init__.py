"""Holds and their statistics."""
