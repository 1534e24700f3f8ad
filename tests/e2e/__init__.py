"""End-to-end tests over real HTTP: a running server, a real PostgreSQL, a calling platform."""
