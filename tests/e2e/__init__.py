"""The product over real HTTP: a running server, a real PostgreSQL, a platform that calls."""
