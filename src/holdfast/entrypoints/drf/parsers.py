"""Parses bodies as strictly as the API."""

from collections.abc import Iterable, Mapping
from typing import IO, Any

from django.http import HttpRequest
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from holdfast.entrypoints.api.http.exchange import Call
from holdfast.entrypoints.api.http.parsing import (
    BODY_BYTES_MAX,
    body_too_large,
    declared_length,
    is_csv,
    strict_json,
)
from holdfast.entrypoints.api.http.problems import Problem
from holdfast.entrypoints.drf.problems import Refused


class StrictJSONParser(BaseParser):
    """Takes any media type, to refuse all but JSON with the API's own messages."""

    media_type = "*/*"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        assert parser_context is not None
        try:
            return _parsed(stream, _headers_of(parser_context["request"]._request))  # noqa: SLF001
        except Problem as problem:
            raise Refused(problem) from None


def _headers_of(request: HttpRequest) -> Call:
    sent = {b"content-length": "CONTENT_LENGTH", b"content-type": "CONTENT_TYPE"}
    headers = [
        (name, str(request.META.get(key, "")).encode("latin-1", "replace"))
        for name, key in sent.items()
    ]
    return Call("POST", "/", None, b"", headers, client=None)


def _parsed(stream: IO[Any], call: Call) -> object:
    """In this order: size, characters, syntax."""
    if (declared_length(call) or 0) > BODY_BYTES_MAX:
        raise body_too_large(BODY_BYTES_MAX)
    body = stream.read(BODY_BYTES_MAX + 1)
    if len(body) > BODY_BYTES_MAX:
        raise body_too_large(BODY_BYTES_MAX)
    is_csv(call, takes_csv=False)
    return strict_json(body)


class JSONOnly(BaseContentNegotiation):
    """Whatever `Accept` says, the answer is JSON, as in the API."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        return next(iter(parsers))

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type or ""
