"""Seats: the map cache, reading them, and drawing a hall."""
