"""The waitlists of sessions."""
