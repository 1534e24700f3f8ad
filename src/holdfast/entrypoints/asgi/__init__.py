"""The ASGI application: API, pages and health checks on one port."""
