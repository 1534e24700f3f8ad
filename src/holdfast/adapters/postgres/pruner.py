"""Deletes old rows, through functions that span all organizations."""

from holdfast.adapters.postgres.engine import statements as sql
from holdfast.adapters.postgres.holds.reader import Database


class PostgresPruning:
    """Implements Pruning."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def prune_answers(self, kept_seconds: int, limit: int) -> int:
        return self._pruned(sql.PRUNE_ANSWERS, kept_seconds, limit)

    def prune_facts(self, partition: int, kept_seconds: int, limit: int) -> int:
        return self._pruned(sql.PRUNE_FACTS, partition, kept_seconds, limit)

    def prune_receipts(self, kept_seconds: int, limit: int) -> int:
        return self._pruned(sql.PRUNE_RECEIPTS, kept_seconds, limit)

    def prune_revocations(self, kept_seconds: int, limit: int) -> int:
        return self._pruned(sql.PRUNE_REVOCATIONS, kept_seconds, limit)

    def _pruned(self, statement: str, *parameters: int) -> int:
        with self._database.transaction() as connection:
            ((count,),) = connection.execute(statement, parameters)
        return int(count)
