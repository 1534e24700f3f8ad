"""The rate limits of all organizations that have any."""

from collections.abc import Mapping

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.access.rates import RATE_SETTINGS, RateLimits
from holdfast.domain.ids import OrganizationId

_ALL = f"SELECT id, {', '.join(RATE_SETTINGS)} FROM holdfast_rate_limits()"  # noqa: S608


class PostgresRateLimits:
    """Implements RateDirectory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all_limits(self) -> Mapping[OrganizationId, RateLimits]:
        with self._database.transaction() as connection:
            rows = connection.execute(_ALL).fetchall()
        return {
            OrganizationId(id_): RateLimits.of(dict(zip(RATE_SETTINGS, texts, strict=True)))
            for id_, *texts in rows
        }
