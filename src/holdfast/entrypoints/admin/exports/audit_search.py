"""Pages of the audit log for an export of a search, which reads the log by itself."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.exports.download import ExportAborted
from holdfast.entrypoints.admin.exports.keyset import PAGE_ROWS
from holdfast.ports.audit.reader import AuditFilter, AuditPosition
from holdfast.services.audit import trail


def found_pages(
    rows: QuerySet[Any], organization_id: UUID, only: AuditFilter
) -> Iterator[list[Any]]:
    """Those of `rows` that the search finds, newest first. The list itself shows only the newest of
    them. A page is empty where a part of the log has none, so that the reader can pause or give up
    in between."""
    before: AuditPosition | None = None
    own = OrganizationId(organization_id)
    while True:
        found = trail.entries(AdminConfig.services.audit, own, only, PAGE_ROWS, before)
        if isinstance(found, Refusal):
            raise ExportAborted(found.code.value)
        if not found.entries:
            yield []
        else:
            numbers = [entry.seq for entry in found.entries]
            # The times tell which partitions to read.
            period = {"at__gte": found.entries[-1].at, "at__lte": found.entries[0].at}
            yield list(rows.filter(seq__in=numbers, **period).order_by("-at", "-seq"))
        before = found.next
        if before is None:
            return
