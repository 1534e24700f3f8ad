"""Holds in your own Django project: an app for Django REST Framework. It uses Holdfast's engine in
the same process, or a Holdfast server."""
