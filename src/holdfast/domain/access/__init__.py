"""Credentials and what they allow."""
