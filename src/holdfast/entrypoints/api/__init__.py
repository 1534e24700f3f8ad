"""The HTTP API: one table of routes, plain ASGI, and nothing that blocks the event loop."""
