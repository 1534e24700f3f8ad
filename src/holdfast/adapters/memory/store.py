"""The engine's store in memory."""

from dataclasses import dataclass

from holdfast.adapters.memory.books import MemoryBooks
from holdfast.adapters.memory.group import MemoryConnection


@dataclass(slots=True)
class MemoryStore(MemoryBooks):
    """Implements ports.store.Store, beside what it lets read."""

    def connect(self) -> MemoryConnection:
        return MemoryConnection(self)
