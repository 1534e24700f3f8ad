"""Limits the large bodies in memory."""

from holdfast.domain.ids import OrganizationId
from holdfast.entrypoints.api.http.problems import unavailable

# A body has 8 MiB at most.
BODIES_MAX = 16
BODIES_OF_ONE_MAX = 4


class LargeBodies:
    """Requests that have a large body, with their organizations. Used on the event loop only."""

    def __init__(self) -> None:
        self._organizations: dict[object, OrganizationId] = {}

    def enter(self, request: object, organization_id: OrganizationId) -> None:
        """Call before reading the body. Raises 503 above the limit."""
        entered = list(self._organizations.values())
        if len(entered) >= BODIES_MAX or entered.count(organization_id) >= BODIES_OF_ONE_MAX:
            raise unavailable()
        self._organizations[request] = organization_id

    def leave(self, request: object) -> None:
        """Does nothing for a request that has not entered."""
        self._organizations.pop(request, None)
