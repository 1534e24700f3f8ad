"""The routes of the API that a cart and checkout page needs. Each action parses what was sent,
calls Holdfast, and returns its answer."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import msgspec
from django.http import HttpRequest, HttpResponse
from rest_framework.decorators import action
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.viewsets import ViewSet

from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.http.shapes import NoFields
from holdfast.entrypoints.api.routes import ROUTES
from holdfast.entrypoints.drf.authentication import (
    Credential,
    HoldfastKeyAuthentication,
    ProjectUserAuthentication,
)
from holdfast.entrypoints.drf.backends.backend import backend
from holdfast.entrypoints.drf.holders import send_for_user
from holdfast.entrypoints.drf.parsers import JSONOnly, StrictJSONParser
from holdfast.entrypoints.drf.problems import problem_response
from holdfast.entrypoints.drf.requests import call_of, response_to
from holdfast.entrypoints.drf.schema import OwnSchema
from holdfast.entrypoints.drf.serializers import StructSerializer, serializer_of
from holdfast.entrypoints.drf.throttles import ChangeThrottle, ReadThrottle

_ROUTES = {(route.method, route.path): route for route in ROUTES}


class HoldfastViewSet(ViewSet):
    """The base of all view sets. `routes` maps each action to its route of the API. Subclass a view
    set to change who may call it."""

    routes: ClassVar[Mapping[str, Route[Any]]]
    authentication_classes = (HoldfastKeyAuthentication, ProjectUserAuthentication)
    permission_classes = (IsAuthenticated,)
    throttle_classes = (ReadThrottle, ChangeThrottle)
    parser_classes = (StrictJSONParser,)
    content_negotiation_class = JSONOnly
    metadata_class = None
    lookup_value_regex = "[^/]+"
    schema = OwnSchema()

    def get_exception_handler(self) -> Callable[..., HttpResponse | None]:
        return problem_response

    def route(self) -> Route[Any]:
        return self.routes[self.action]

    def get_serializer(self, *args: Any, **options: Any) -> StructSerializer:
        return serializer_of(self.route().body or NoFields)(*args, **options)

    def answer(self, request: Request, *names: str) -> HttpResponse:
        """Call the action's route, with `names` in the places of its path's parameters."""
        route = self.route()
        body = None
        if route.is_unsafe:
            serializer = self.get_serializer(data=request.data)
            serializer.is_valid(raise_exception=True)
            body = msgspec.json.encode(serializer.validated_data)
        django_request: HttpRequest = request._request  # noqa: SLF001
        call_with = partial(call_of, django_request, _path_parts(route, names), body)
        auth = request.auth
        if isinstance(auth, Credential):
            reply = backend().send(call_with(auth))
        else:
            reply = send_for_user(request.user, call_with)
        return response_to(django_request, reply)


class HoldViewSet(HoldfastViewSet):
    """Holds. Logged-in users reach only their own."""

    routes = {
        "list": _ROUTES["GET", "/api/holds"],
        "create": _ROUTES["POST", "/api/holds"],
        "retrieve": _ROUTES["GET", "/api/holds/{hold_id}"],
        "destroy": _ROUTES["DELETE", "/api/holds/{hold_id}"],
        "release": _ROUTES["POST", "/api/holds/{hold_id}/release"],
        "extend": _ROUTES["POST", "/api/holds/{hold_id}/extend"],
        "confirm": _ROUTES["POST", "/api/holds/{hold_id}/confirm"],
    }
    lookup_url_kwarg = "hold_id"

    def list(self, request: Request) -> HttpResponse:
        return self.answer(request)

    def create(self, request: Request) -> HttpResponse:
        return self.answer(request)

    def retrieve(self, request: Request, hold_id: str) -> HttpResponse:
        return self.answer(request, hold_id)

    def destroy(self, request: Request, hold_id: str) -> HttpResponse:
        return self.answer(request, hold_id)

    @action(detail=True, methods=["post"])
    def release(self, request: Request, hold_id: str) -> HttpResponse:
        return self.answer(request, hold_id)

    @action(detail=True, methods=["post"])
    def extend(self, request: Request, hold_id: str) -> HttpResponse:
        return self.answer(request, hold_id)

    @action(detail=True, methods=["post"])
    def confirm(self, request: Request, hold_id: str) -> HttpResponse:
        """Needs a secret key: otherwise buyers could declare that they have paid."""
        return self.answer(request, hold_id)


class CartViewSet(HoldfastViewSet):
    """Carts: each has at most one live hold, changed in place."""

    routes = {
        "hold": _ROUTES["GET", "/api/carts/{cart_token}/hold"],
        "fill": _ROUTES["PUT", "/api/carts/{cart_token}/hold"],
        "empty": _ROUTES["DELETE", "/api/carts/{cart_token}/hold"],
        "renew": _ROUTES["POST", "/api/carts/{cart_token}/hold/renew"],
    }
    lookup_url_kwarg = "cart_token"
    lookup_value_regex = ".+"  # Django has decoded the slashes in a name

    @action(detail=True)
    def hold(self, request: Request, cart_token: str) -> HttpResponse:
        return self.answer(request, cart_token)

    @hold.mapping.put
    def fill(self, request: Request, cart_token: str) -> HttpResponse:
        return self.answer(request, cart_token)

    @hold.mapping.delete
    def empty(self, request: Request, cart_token: str) -> HttpResponse:
        return self.answer(request, cart_token)

    @action(detail=True, methods=["post"], url_path="hold/renew")
    def renew(self, request: Request, cart_token: str) -> HttpResponse:
        return self.answer(request, cart_token)


class CheckoutViewSet(HoldfastViewSet):
    routes = {
        "create": _ROUTES["POST", "/api/checkouts"],
        "retrieve": _ROUTES["GET", "/api/checkouts/{checkout_id}"],
        "complete": _ROUTES["POST", "/api/checkouts/{checkout_id}/complete"],
    }
    lookup_url_kwarg = "checkout_id"

    def create(self, request: Request) -> HttpResponse:
        return self.answer(request)

    def retrieve(self, request: Request, checkout_id: str) -> HttpResponse:
        return self.answer(request, checkout_id)

    @action(detail=True, methods=["post"])
    def complete(self, request: Request, checkout_id: str) -> HttpResponse:
        """Needs a secret key, unless Holdfast asks the payment provider."""
        return self.answer(request, checkout_id)


class OrderViewSet(HoldfastViewSet):
    routes = {
        "list": _ROUTES["GET", "/api/orders"],
        "retrieve": _ROUTES["GET", "/api/orders/{order_id}"],
    }
    lookup_url_kwarg = "order_id"

    def list(self, request: Request) -> HttpResponse:
        return self.answer(request)

    def retrieve(self, request: Request, order_id: str) -> HttpResponse:
        return self.answer(request, order_id)


class SessionViewSet(HoldfastViewSet):
    routes = {"availability": _ROUTES["GET", "/api/sessions/{session_id}/availability"]}
    lookup_url_kwarg = "session_id"

    @action(detail=True)
    def availability(self, request: Request, session_id: str) -> HttpResponse:
        return self.answer(request, session_id)


def _path_parts(route: Route[Any], names: tuple[str, ...]) -> list[str]:
    """The parts of the route's path after /api/, with its names filled in."""
    given = iter(names)
    parts = route.path.split("/")[2:]
    return [next(given) if part.startswith("{") else part for part in parts]
