"""Creates the partitions of the audit log ahead of time, and drops those past their retention.
Nothing else ever removes an entry."""

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
        if made is None:
            _log.error("audit.rest_too_large")
        if self.kept_days:
            self._drop()

    def _drop(self) -> None:
        recorded = self.partitions.recorded_days()
        if recorded is None or recorded > self.kept_days:
            _log.warning("audit.kept_longer", wanted_days=self.kept_days, recorded_days=recorded)
        while dropped := self.partitions.drop_oldest(self.kept_days):
            ends_at = dropped.ends_at.isoformat()
            _log.info("audit.partition_dropped", partition=dropped.name, ends_at=ends_at)

    def tend(self, interval_seconds: float, retry_seconds: float) -> float:
        """Run once; returns the seconds to wait for the next run."""
        try:
            self.run_once()
        except StoreError as error:
            _log.warning("audit.retention_failed", problem=error.problem)
            return retry_seconds
        return interval_seconds
