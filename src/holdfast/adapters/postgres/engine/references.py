"""Numbers for the short references of holds."""

from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine import statements as sql
from holdfast.domain.reference import reference_of

BLOCK_SIZE = 256


class ReferenceNumbers:
    """Numbers in blocks, to ask the sequence once for many holds. The rest of a block is lost when
    the process ends."""

    def __init__(self) -> None:
        self._next = 0
        self._end = 0

    def take(self, connection: Connection) -> str:
        if self._next == self._end:
            row = connection.execute(sql.REFERENCE_BLOCK).fetchone()
            assert row is not None
            self._next = row[0] * BLOCK_SIZE
            self._end = self._next + BLOCK_SIZE
        self._next += 1
        return reference_of(self._next - 1)
