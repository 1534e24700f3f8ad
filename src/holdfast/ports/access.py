"""Callers, their scopes and API keys."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Protocol

from holdfast.domain.ids import ApiKeyId, OrganizationId
from holdfast.domain.immutable import immutable


class Scope(StrEnum):
    HOLDS_READ = "holds:read"
    HOLDS_WRITE = "holds:write"
    HOLDS_OPERATE = "holds:operate"  # beyond the policy's limits for holders
    ORDERS_READ = "orders:read"
    FACTS_READ = "facts:read"
    AUDIT_READ = "audit:read"
    CATALOG_READ = "catalog:read"
    CATALOG_WRITE = "catalog:write"


ALL_SCOPES = tuple(Scope)


@immutable
class Principal:
    """The caller, from its credential, which is the only source of the organization."""

    organization_id: OrganizationId
    key_id: ApiKeyId
    scopes: frozenset[str]
    actor: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "actor", f"key:{self.key_id}")


class KeyDirectory(Protocol):
    def find(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, Principal]:
        """The principals of the keys that exist and are not revoked. May raise StoreError."""
        ...
