"""Links of the document: what to call next with the id that a response contains."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.openapi.components import Components, Json

_PARAMETER = re.compile(r"\{(\w+)\}")


def links_of(route: Route[Any], routes: Sequence[Route[Any]], components: Components) -> Json:
    """From a response to each operation on what it shows, by name."""
    return {
        target.handler.__name__: components.share(
            "links", target.handler.__name__, _link(target, name)
        )
        for name, target in _targets(route, routes)
    }


def _targets(route: Route[Any], routes: Sequence[Route[Any]]) -> Iterator[tuple[str, Route[Any]]]:
    """A response begins with the id of what it shows. Reads and calls that end a hold have none."""
    if not route.is_unsafe or route.ends_hold:
        return
    name = route.answer.__struct_encode_fields__[0]
    for target in routes:
        if target is not route and _PARAMETER.findall(target.path) == [name]:
            yield name, target


def _link(target: Route[Any], name: str) -> Json:
    return {
        "operationId": target.handler.__name__,
        "parameters": {name: f"$response.body#/{name}"},
    }
