"""Holds: placing, extending and ending them, and the capacity they use."""
