"""The interfaces to an inventory that is another service."""
