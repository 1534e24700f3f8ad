"""An in-memory store for tests and simulations, with the same decisions as on PostgreSQL."""

from holdfast.adapters.memory.store import MemoryStore

__all__ = ["MemoryStore"]
