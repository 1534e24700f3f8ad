"""The OpenAPI document of these routes, for drf-spectacular: from the API's own table of routes."""

import re
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from holdfast.domain.holds.hold import CART_TOKEN_LENGTH_MAX
from holdfast.entrypoints.api.http.codes import KINDS, ProblemCode
from holdfast.entrypoints.api.http.fields import HEADER_OF_FIELD
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.openapi.document import route_codes
from holdfast.entrypoints.api.openapi.glossary import GLOSSARY
from holdfast.entrypoints.api.openapi.schemas import parameter_schemas
from holdfast.entrypoints.drf.serializers import ProblemSerializer, serializer_of

_JSON, _PROBLEM = "application/json", "application/problem+json"
# Given elsewhere, or unknown to OpenAPI 3.0.
_OF_PARAMETER = {"description", "examples"}
_CSRF = ProblemCode.CSRF_FAILED
_NAME = re.compile(r"\{(\w+)\}")
_IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    location=OpenApiParameter.HEADER,
    description="A text of your choice. For at least 24 hours, repeating a request with the same "
    "key has no further effect, and returns the same answer.",
)


class RouteSchema(AutoSchema):
    @property
    def _route(self) -> Route[Any]:
        view: Any = self.view
        found: Route[Any] = view.route()
        return found

    def get_operation_id(self) -> str:
        return f"holdfast_{self._route.handler.__name__}"

    def get_summary(self) -> str:
        return self._route.summary

    def get_description(self) -> str:  # type: ignore[override]
        return self._route.description or ""

    def get_tags(self) -> list[str]:
        return [self._route.path.split("/")[2]]

    def map_parsers(self) -> list[str]:
        """The parser takes other media types only to refuse them."""
        return [_JSON]

    def get_override_parameters(self) -> list[Any]:
        route = self._route
        parameters = [_path_parameter(route, name) for name in _NAME.findall(route.path)]
        if route.query is not None:
            parameters += [
                _search_parameter(name, schema)
                for name, schema in parameter_schemas(route.query).items()
            ]
        return [*parameters, _IDEMPOTENCY_KEY] if route.is_unsafe else parameters

    def get_request_serializer(self) -> Any:
        body = self._route.body
        return None if body is None else serializer_of(body)

    def get_response_serializers(self) -> Any:
        route = self._route
        answer = serializer_of(route.answer)
        found = {
            (status, _JSON): OpenApiResponse(answer, meaning)
            for status, meaning in {route.status: route.returns, **route.also}.items()
        }
        codes: dict[int, list[str]] = {}
        own = (ProblemCode.PERMISSION_DENIED, *((_CSRF,) if route.is_unsafe else ()))
        for code in (*route_codes(route), *own):
            codes.setdefault(KINDS[code].status, []).append(f"`{code.value}`")
        for status, named in codes.items():
            found[status, _PROBLEM] = OpenApiResponse(ProblemSerializer, ", ".join(named))
        return found


class OwnSchema:
    """A schema object for each view. A shared one keeps the operation that it describes, so two
    requests for the document at the same time would disturb each other."""

    def __get__(self, view: Any, _: type[Any]) -> RouteSchema:
        schema = RouteSchema()
        if view is not None:
            schema.view = view
        return schema


class _CredentialScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "holdfast.entrypoints.drf.authentication.HoldfastKeyAuthentication"
    name = "holdfastCredential"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A secret key of Holdfast, for servers only, or a holder token.",
        }


class _SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "holdfast.entrypoints.drf.authentication.ProjectUserAuthentication"
    name = "projectSession"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "The session of a logged-in user. Changes need the header X-CSRFToken.",
        }


def _path_parameter(route: Route[Any], name: str) -> OpenApiParameter:
    schema: dict[str, Any] = {"type": "string", "format": "uuid"}
    if route.is_of_cart:
        schema = {"type": "string", "minLength": 1, "maxLength": CART_TOKEN_LENGTH_MAX}
    return OpenApiParameter(
        name, schema, OpenApiParameter.PATH, required=True, description=GLOSSARY[name]
    )


def _search_parameter(name: str, schema: dict[str, Any]) -> OpenApiParameter:
    header = HEADER_OF_FIELD.get(name)
    return OpenApiParameter(
        header or name,
        {key: value for key, value in schema.items() if key not in _OF_PARAMETER},
        OpenApiParameter.HEADER if header else OpenApiParameter.QUERY,
        description=schema["description"],
    )
