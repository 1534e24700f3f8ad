"""The route of the fact log, for clients without a broker, and its handler."""

from functools import partial
from typing import Any

from holdfast.domain.access.scopes import Scope
from holdfast.entrypoints.api.facts.answers import FactPageAnswer, fact_page_answer
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.cursors import fact_position
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.fields import Limit
from holdfast.entrypoints.api.http.problems import Problem
from holdfast.entrypoints.api.http.replies import reply_to_reading
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.http.shapes import PageQuery
from holdfast.ports.facts.log import FactPage
from holdfast.ports.paging import PAGE_SIZE_MAX
from holdfast.services import reads


class FactsQuery(PageQuery, frozen=True):
    """Without a cursor, starts with the oldest fact kept."""

    limit: Limit = PAGE_SIZE_MAX


async def list_facts(context: Context, call: Call, query: FactsQuery) -> Reply:
    organization_id, after = call.principal.organization_id, fact_position(query)
    read = partial(context.facts.facts, organization_id, after, query.limit)
    found = await context.blocking.run(organization_id, reads.read, read)
    if isinstance(found, FactPage) and found.is_gone:
        message = "Facts after this cursor have been deleted. Start again without a cursor"
        raise Problem(ProblemCode.CURSOR_EXPIRED, message)
    return reply_to_reading(call, found, fact_page_answer)


FACT_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="GET",
        path="/api/facts",
        scope=Scope.FACTS_READ,
        summary="Read facts in order and without gaps",
        returns="A page of facts, oldest first.",
        handler=list_facts,
        query=FactsQuery,
        answer=FactPageAnswer,
        refusals=(ProblemCode.CURSOR_EXPIRED,),
    ),
)
