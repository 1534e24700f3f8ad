"""The handler of the fact log."""

from holdfast.entrypoints.api.facts.answers import fact_page_answer
from holdfast.entrypoints.api.facts.structs import FactsQuery
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.cursors import fact_position
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.problems import Problem
from holdfast.entrypoints.api.http.replies import reply_to_reading
from holdfast.ports.facts.log import FactPage
from holdfast.services import reads


async def list_facts(context: Context, call: Call, query: FactsQuery) -> Reply:
    organization_id, after = call.principal.organization_id, fact_position(query)
    found = await context.blocking.run(
        call.principal.organization_id,
        reads.read,
        lambda: context.facts.facts(organization_id, after, query.limit),
    )
    if isinstance(found, FactPage) and found.is_gone:
        message = "Facts after this cursor have been deleted. Start again without a cursor"
        raise Problem(ProblemCode.CURSOR_EXPIRED, message)
    return reply_to_reading(call, found, fact_page_answer)
