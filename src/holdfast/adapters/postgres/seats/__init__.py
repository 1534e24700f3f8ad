"""Seats: the map cache, the reader, and the drawing of a hall."""
