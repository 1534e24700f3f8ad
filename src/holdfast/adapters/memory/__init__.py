"""A store in memory: the same decisions as on PostgreSQL, for tests and simulations."""

from holdfast.adapters.memory.store import MemoryStore

__all__ = ["MemoryStore"]
