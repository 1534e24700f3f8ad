"""The HTTP server: connections, processes."""
