"""Foundations of the tests: real services, real server processes, small worlds."""
