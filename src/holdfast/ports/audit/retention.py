"""The partitions of the audit log, one for each month."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from holdfast.domain.immutable import immutable


@immutable
class AuditPartition:
    """Its entries are older than `ends_at`."""

    name: str
    ends_at: datetime


class AuditPartitions(Protocol):
    """Every call blocks, and may raise StoreError. Contended: writers are in the way."""

    def make(self, months: int) -> int | None:
        """Create a few of the partitions that are missing for this month and the next ones. Returns
        how many; 0 when none is missing. None if entries without a partition are in the way, and
        are too many to move while others write."""
        ...

    def recorded_days(self) -> int | None:
        """How long the owner wants entries to be kept. None means forever."""
        ...

    def drop_oldest(self, kept_days: int) -> AuditPartition | None:
        """Drop the oldest partition if all of its entries are older than that."""
        ...

    def all(self) -> Sequence[AuditPartition]:
        """Oldest first."""
        ...
