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

    def make(self, months: int) -> int:
        """Make a few of the partitions that are missing for this month and the next ones; returns
        how many, and 0 when there are all."""
        ...

    def drop_oldest(self, kept_days: int) -> AuditPartition | None:
        """Drop the oldest partition if all of its entries are older than that."""
        ...

    def all(self) -> Sequence[AuditPartition]:
        """Oldest first."""
        ...
