"""Records in the audit log who exported what."""

from collections.abc import Mapping
from typing import Protocol

from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable

EXPORT_STARTED = "export.started"
EXPORT_FINISHED = "export.finished"


@immutable
class Export:
    """`filters` as in the list that was exported. `is_in_clear`: with addresses and names."""

    organization_id: OrganizationId
    what: str
    filters: Mapping[str, str]
    is_in_clear: bool
    has_codes: bool = False


class ExportLog(Protocol):
    """Every call blocks, and may raise StoreError."""

    def started(self, export: Export, origin: Origin) -> None: ...

    def finished(self, export: Export, origin: Origin, rows: int, *, is_complete: bool) -> None:
        """`rows` were sent, or at least read."""
        ...
