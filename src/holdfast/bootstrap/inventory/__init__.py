"""An inventory that is another service."""
