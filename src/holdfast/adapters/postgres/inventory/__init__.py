"""Reads of the Inventory Service."""
