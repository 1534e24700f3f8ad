"""The pages of the shop."""

from django.urls import path

urlpatterns: list = []
