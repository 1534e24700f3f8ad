"""The pages of holds."""
