"""Seats, seat maps and occupancy."""
