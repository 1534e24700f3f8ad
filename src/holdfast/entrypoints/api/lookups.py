"""Blocking reads on behalf of a caller."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.encodings import Coding, compressed
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.replies import written

ID = TypeVar("ID")
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


def shared_reply(
    read: Callable[[R, OrganizationId, ID], T | Refusal],
    reader: R,
    answer: Callable[[T], object],
    key: tuple[OrganizationId, ID, Coding],
) -> Reply | Refusal:
    """Read, serialize and compress an answer for all callers that share it. Blocks."""
    organization_id, id_, coding = key
    found = read(reader, organization_id, id_)
    if isinstance(found, Refusal):
        return found
    return compressed(Reply(200, written(answer(found))), coding)
