"""The Inventory Service over HTTP."""
