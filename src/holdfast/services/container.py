"""What the API needs of the process that it runs in."""

from dataclasses import dataclass

from holdfast.ports.access import KeyDirectory
from holdfast.ports.catalogue import CatalogueStore
from holdfast.ports.engine import Submit
from holdfast.ports.holds import HoldReader
from holdfast.ports.seats import SeatReader


@dataclass(frozen=True, slots=True)
class ApiContainer:
    """`deadline_seconds` is the engine's: the API waits a little longer than that, never forever.

    It lives with the services because bootstrap fills it and may not know any entry point.
    """

    submit: Submit
    holds: HoldReader
    catalogue: CatalogueStore
    seats: SeatReader
    keys: KeyDirectory
    deadline_seconds: int
