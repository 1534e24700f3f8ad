"""The pages of orders and checkouts."""
