"""The commands of the Inventory Service: it reserves and sells tickets for the Hold Service."""
