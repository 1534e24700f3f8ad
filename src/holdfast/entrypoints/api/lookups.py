"""Blocking reads on behalf of a caller."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from holdfast.domain.ids import OrganizationId
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import Call

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


async def look_up(
    context: Context,
    call: Call,
    read: Callable[Concatenate[R, OrganizationId, P], T],
    reader: R,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Run a read of the caller's organization on a thread."""
    organization_id = call.principal.organization_id
    return await context.blocking.run(
        organization_id, read, reader, organization_id, *args, **kwargs
    )
