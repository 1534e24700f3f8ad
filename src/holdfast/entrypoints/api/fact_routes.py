"""The route of the log of facts, for those who have no broker."""

from typing import Any

from holdfast.entrypoints.api.codes import ProblemCode
from holdfast.entrypoints.api.fact_answers import FactPageAnswer
from holdfast.entrypoints.api.fact_handlers import list_facts
from holdfast.entrypoints.api.fact_structs import FactsQuery
from holdfast.entrypoints.api.route import Route
from holdfast.ports.access import Scope

FACT_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="GET",
        path="/api/facts",
        scope=Scope.FACTS_READ,
        summary="Read what happened, in order and without gaps",
        handler=list_facts,
        query=FactsQuery,
        answer=FactPageAnswer,
        refusals=(ProblemCode.CURSOR_EXPIRED,),
    ),
)
