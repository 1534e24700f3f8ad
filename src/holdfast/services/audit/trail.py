"""Reading the audit log."""

from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.audit.reader import AuditFilter, AuditPosition, AuditReader, AuditSlice
from holdfast.services import reads


def entries(
    reader: AuditReader,
    organization_id: OrganizationId,
    only: AuditFilter,
    limit: int,
    before: AuditPosition | None,
) -> AuditSlice | Refusal:
    return reads.read(lambda: reader.entries(organization_id, only, limit, before))
