"""Changes of the catalog, and seat imports."""
