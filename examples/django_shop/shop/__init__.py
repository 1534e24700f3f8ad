"""The pages of the shop."""
