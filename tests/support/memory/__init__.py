"""An in-memory store for tests, with the same decisions as on PostgreSQL."""

from tests.support.memory.store import MemoryStore

__all__ = ["MemoryStore"]
