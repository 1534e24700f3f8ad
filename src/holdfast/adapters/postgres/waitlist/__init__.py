"""The waitlist: its rows, statements and checks."""
