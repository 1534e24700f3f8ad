"""The shop's pages, and Holdfast's API for them."""

from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerView

from holdfast.entrypoints.drf.schema_view import SchemaView

urlpatterns = [
    path("", include("shop.urls")),
    path("api/", include("holdfast.entrypoints.drf.urls")),
    path("api/schema", SchemaView.as_view(), name="schema"),
    path("api/docs", SpectacularSwaggerView.as_view(url_name="schema")),
]
