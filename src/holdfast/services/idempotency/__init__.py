"""Fingerprints of requests, and sealed answers."""
