"""What handlers work with."""

from dataclasses import dataclass

from holdfast.entrypoints.api.waiting import BlockingCalls, EngineAnswers
from holdfast.ports.catalogue import CatalogueStore
from holdfast.ports.holds import HoldReader


@dataclass(frozen=True, slots=True)
class Context:
    engine: EngineAnswers
    blocking: BlockingCalls
    holds: HoldReader
    catalogue: CatalogueStore
