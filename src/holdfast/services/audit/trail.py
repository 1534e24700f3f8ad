"""Reading the audit log."""

from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.audit.reader import AuditEntry, AuditFilter, AuditReader
from holdfast.services import reads


@immutable
class AuditPage:
    entries: tuple[AuditEntry, ...]
    has_more: bool


def entries(
    reader: AuditReader,
    organization_id: OrganizationId,
    only: AuditFilter,
    limit: int,
    before: int | None,
) -> AuditPage | Refusal:
    """Newest first. One extra entry is read, to see whether there are more."""
    found = reads.read(lambda: reader.entries(organization_id, only, limit + 1, before))
    if isinstance(found, Refusal):
        return found
    return AuditPage(found[:limit], len(found) > limit)
