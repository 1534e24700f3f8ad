"""Checkout, payment, and orders confirmed by another service."""
