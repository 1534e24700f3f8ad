"""Seats: the seat plan of a session, best available, conflicts and blocking."""
