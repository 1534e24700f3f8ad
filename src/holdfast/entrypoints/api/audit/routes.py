"""The route of the audit log, and its handler."""

from typing import Any

from holdfast.entrypoints.api.audit.answers import AuditPageAnswer, audit_page_answer
from holdfast.entrypoints.api.audit.structs import AuditQuery
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.cursors import audit_entry_id
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.replies import reply_to_reading
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.http.shapes import filters_of
from holdfast.ports.access import Scope
from holdfast.ports.audit.reader import AuditFilter
from holdfast.services.audit import trail


async def list_audit(context: Context, call: Call, query: AuditQuery) -> Reply:
    found = await context.blocking.run(
        call.principal.organization_id,
        trail.entries,
        context.audit,
        call.principal.organization_id,
        AuditFilter(**filters_of(query)),
        query.limit,
        audit_entry_id(query),
    )
    return reply_to_reading(call, found, audit_page_answer)


AUDIT_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="GET",
        path="/api/audit",
        scope=Scope.AUDIT_READ,
        summary="List audit log entries, newest first",
        returns="A page of the audit log.",
        handler=list_audit,
        query=AuditQuery,
        answer=AuditPageAnswer,
    ),
)
