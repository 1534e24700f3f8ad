"""The origins that organizations allow to call the API with a holder token."""

import threading
from collections.abc import Mapping
from uuid import UUID

import structlog

from holdfast.domain.ids import OrganizationId
from holdfast.ports.access import TokenDirectory
from holdfast.ports.store import StoreError

_RETRY_SECONDS = 1.0

_log = structlog.get_logger("holdfast.origins")


class AllowedOrigins:
    """Kept in memory and read again after each change. A process that hears of no changes keeps
    what it knows: CORS protects no data, it only lets browsers show it to more pages."""

    def __init__(self, directory: TokenDirectory) -> None:
        self._directory = directory
        self._by_organization: Mapping[OrganizationId, frozenset[str]] = {}
        self._all: frozenset[str] = frozenset()
        self._has_changed = threading.Event()

    def allows(self, organization_id: OrganizationId, origin: str) -> bool:
        return origin in self._by_organization.get(organization_id, ())

    def allows_any(self, origin: str) -> bool:
        """Whether some organization allows it: a preflight does not say which one it is for."""
        return origin in self._all

    def change(self, _: UUID | None) -> None:
        """The origins of this organization have changed, or those of any may have."""
        self._has_changed.set()

    def refresh(self) -> None:
        """Blocks, and may raise StoreError."""
        self._has_changed.clear()
        found = self._directory.allowed_origins()
        self._by_organization = found
        self._all = frozenset().union(*found.values())

    def run(self, stopped: threading.Event) -> None:
        """Runs on a thread of its own."""
        while not stopped.is_set():
            if not self._has_changed.wait(_RETRY_SECONDS):
                continue
            try:
                self.refresh()
            except StoreError as error:
                self._has_changed.set()
                _log.warning("origins.failed", problem=error.problem)
                stopped.wait(_RETRY_SECONDS)
