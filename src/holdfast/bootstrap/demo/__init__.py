"""The demo: embedded services, and a sale to try."""
