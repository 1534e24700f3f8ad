"""The commands about holds."""
