"""The catalog: its tables, changes and cache."""
