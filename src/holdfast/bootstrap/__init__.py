"""Wires services to adapters; nothing else does. One function per process."""
