"""Filters of the admin's templates."""
