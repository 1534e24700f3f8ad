"""Where the use of rate limits is counted.

A period is divided into slots. Units count until a whole period has passed since the end of the
slot in which they were taken: never too short, and at most one slot too long. So a count needs only
a few numbers, however large the limit is.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from holdfast.domain.access.rates import Rate, RateLimits
from holdfast.domain.ids import OrganizationId

SLOTS = 30


class Want(NamedTuple):
    """A request for units of the limit `name`. `key` identifies the buyer, API key or address that
    is counted, without personal data. 0 units always fit."""

    name: str
    key: str
    rate: Rate
    units: int


class Level(NamedTuple):
    """How much of a limit is used, and until when."""

    used: int
    slot: int  # the current one
    reset_seconds: float  # until some units become available again
    wait_seconds: float | None  # until the wanted units fit; None if they never do


class Count(NamedTuple):
    """Whether all wants were taken (otherwise none was), and the level of each. `is_crowded` if
    there are more subjects than can be counted."""

    is_taken: bool
    levels: Sequence[Level]
    is_crowded: bool = False


class RatesUnavailable(Exception):
    """The shared counts cannot be reached at the moment."""


class SharedRates(Protocol):
    """The counts that all processes share. Used on the event loop."""

    async def take(self, wants: Sequence[Want]) -> Count:
        """Take all wants or none. May raise RatesUnavailable, without a long wait."""
        ...

    def give_back(self, wants: Sequence[Want], slots: Sequence[int]) -> None:
        """Does not wait, and never raises."""
        ...

    def close(self) -> None: ...


class RateDirectory(Protocol):
    def all_limits(self) -> Mapping[OrganizationId, RateLimits]:
        """The limits of every organization that has any. Blocks, and may raise StoreError."""
        ...
