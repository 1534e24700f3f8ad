"""The Inventory Service, and the Hold Service in front of one."""
