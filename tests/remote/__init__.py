"""Holds whose tickets an Inventory Service counts."""
