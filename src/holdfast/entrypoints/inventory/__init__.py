"""The API of the Inventory Service."""
