"""Reserving and blocking seats."""
