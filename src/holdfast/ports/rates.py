"""Rate limits, and where what was used of them is counted.

A period is divided into slots. What was taken in a slot counts until the whole period has passed
since the end of that slot: never too short, and at most one slot too long. So a count needs few
numbers, however large the limit is.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from holdfast.domain.access.rates import Rate, RateLimits
from holdfast.domain.ids import OrganizationId

SLOTS = 30


class Want(NamedTuple):
    """Units of the limit `name`. `key` identifies what is counted, without personal data. A want of
    0 units always fits."""

    name: str
    key: str
    rate: Rate
    units: int


class Level(NamedTuple):
    """What is used of a limit, and until when."""

    used: int
    slot: int  # of this moment
    reset_seconds: float  # until some of it is free again
    wait_seconds: float | None  # until the wanted units fit; None if they never do


class Count(NamedTuple):
    """Whether all wants were taken, or none, and the level of each. `is_crowded` if there are more
    subjects than can be counted."""

    is_taken: bool
    levels: Sequence[Level]
    is_crowded: bool = False


class RatesUnavailable(Exception):
    """The shared counts cannot be reached at the moment."""


class SharedRates(Protocol):
    """Counts of all processes together. Used on the event loop."""

    async def take(self, wants: Sequence[Want]) -> Count:
        """All or nothing. May raise RatesUnavailable, soon."""
        ...

    def give_back(self, wants: Sequence[Want], slots: Sequence[int]) -> None:
        """Does not wait, and never raises."""
        ...

    def close(self) -> None: ...


class RateDirectory(Protocol):
    def all_limits(self) -> Mapping[OrganizationId, RateLimits]:
        """Of the organizations that have any. Blocks, and may raise StoreError."""
        ...
