"""The Django project of the shop."""
