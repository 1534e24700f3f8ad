"""The reconciler, between this service and an Inventory Service."""
