"""The log of facts, deliveries and notices."""
