"""The rate limits of all organizations, in memory, so that no request has to read them."""

import structlog

from holdfast.domain.access.rates import RateLimits
from holdfast.domain.ids import OrganizationId
from holdfast.ports.rates import RateDirectory
from holdfast.ports.store import StoreError

# A change takes effect within this time.
REFRESH_SECONDS = 1.0

_log = structlog.get_logger("holdfast.rates")


class RateBook:
    """`of` is read on the event loop; `refresh` runs on a thread of its own and replaces it."""

    def __init__(self, directory: RateDirectory) -> None:
        self._directory = directory
        self._is_lost = False
        self.of: dict[OrganizationId, RateLimits] = {}

    def refresh(self) -> float:
        """Returns the seconds until the next refresh. Without the store, the limits stay."""
        try:
            self.of = dict(self._directory.all_limits())
        except StoreError as error:
            if not self._is_lost:
                _log.warning("rates.unread", problem=error.problem)
            self._is_lost = True
        else:
            self._is_lost = False
        return REFRESH_SECONDS
