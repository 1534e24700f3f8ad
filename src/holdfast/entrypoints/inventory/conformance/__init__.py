"""Checks whether an Inventory Service keeps the contract: `contracts/inventory.yaml`."""
