"""Holder tokens, issued and revoked by a secret key."""
