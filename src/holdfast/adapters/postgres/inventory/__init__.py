"""Reservations of the Inventory Service, and what a Hold Service keeps about one."""
