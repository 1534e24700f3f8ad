"""The route of the fact log, for clients without a broker."""

from typing import Any

from holdfast.entrypoints.api.facts.answers import FactPageAnswer
from holdfast.entrypoints.api.facts.handlers import list_facts
from holdfast.entrypoints.api.facts.structs import FactsQuery
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.route import Route
from holdfast.ports.access import Scope

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
