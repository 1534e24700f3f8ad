"""Makes the partitions of the audit log in time, and drops those that need not be kept. Nothing
else ever removes an entry."""

import structlog

from holdfast.domain.immutable import immutable
from holdfast.ports.audit.retention import AuditPartitions
from holdfast.ports.store import StoreError

# If this duty does not run for longer, entries go to a default partition, and none is lost.
MONTHS_AHEAD = 3

_log = structlog.get_logger("holdfast.audit")


@immutable
class AuditRetention:
    """With 0 days, everything is kept."""

    partitions: AuditPartitions
    kept_days: int

    def run_once(self) -> None:
        """May raise StoreError."""
        while made := self.partitions.make(MONTHS_AHEAD):
            _log.info("audit.partitions_made", count=made)
        while self.kept_days:
            dropped = self.partitions.drop_oldest(self.kept_days)
            if dropped is None:
                return
            ends_at = dropped.ends_at.isoformat()
            _log.info("audit.partition_dropped", partition=dropped.name, ends_at=ends_at)

    def tend(self, interval_seconds: float, retry_seconds: float) -> float:
        """Run once; returns the seconds to wait for the next run."""
        try:
            self.run_once()
        except StoreError as error:
            _log.warning("audit.retention_failed", problem=type(error).__name__)
            return retry_seconds
        return interval_seconds
