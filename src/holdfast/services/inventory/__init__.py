"""The Inventory Service, and holds in front of one."""
