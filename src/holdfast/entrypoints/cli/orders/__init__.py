"""The commands about orders and sessions."""
