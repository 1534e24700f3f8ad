"""Holds in your own Django project: an app for Django REST Framework, over Holdfast's engine in the
same process or over a Holdfast server."""
