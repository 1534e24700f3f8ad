"""Serves the OpenAPI document."""

import threading
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.views import SpectacularAPIView

_one_at_a_time = threading.Lock()


class SchemaView(SpectacularAPIView):
    """drf-spectacular loads its extensions with the first document, which fails on two threads at
    once."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with _one_at_a_time:
            return super().dispatch(request, *args, **kwargs)
