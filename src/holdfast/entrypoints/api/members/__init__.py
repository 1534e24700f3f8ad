"""Members, and their sessions."""
