"""A private PostgreSQL and a private Valkey, run from wheels and supervised by this process."""

from holdfast.adapters.embedded.errors import EmbeddedServiceError
from holdfast.adapters.embedded.postgres import EmbeddedPostgres
from holdfast.adapters.embedded.valkey import EmbeddedValkey

__all__ = ["EmbeddedPostgres", "EmbeddedServiceError", "EmbeddedValkey"]
