"""The engine's in-memory store."""

from dataclasses import dataclass

from tests.support.memory.books import MemoryBooks
from tests.support.memory.group import MemoryConnection


@dataclass(slots=True)
class MemoryStore(MemoryBooks):
    """Implements ports.store.Store on top of the queries."""

    def connect(self) -> MemoryConnection:
        return MemoryConnection(self)
