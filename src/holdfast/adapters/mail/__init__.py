"""Notices to buyers, by mail or on the terminal."""
