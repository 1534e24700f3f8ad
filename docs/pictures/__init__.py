"""Pictures of the documentation, drawn from the code by `make pictures`."""
