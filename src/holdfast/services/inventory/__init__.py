"""Holds in front of an inventory that is another service."""
