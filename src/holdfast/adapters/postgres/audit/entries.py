"""Audit entries of changes outside the engine, in the transaction of the change."""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import ApiKeyId, HoldId, OrganizationId
from holdfast.domain.values import JsonValue

_INSERT = """
INSERT INTO audit (organization_id, at, action, hold_id, catalog_id, key_id, actor, request_id, ip,
    user_agent, acting_user, old, new)
VALUES (%s, statement_timestamp(), %s, %s, %s, %s, %s, %s, %s::inet, %s, %s, %s::jsonb, %s::jsonb)
"""

_json = msgspec.json.Encoder()


def write_entry(
    connection: Connection,
    organization_id: OrganizationId,
    action: str,
    origin: Origin,
    *,
    old: Mapping[str, JsonValue] | None,
    new: Mapping[str, JsonValue],
    hold_id: HoldId | None = None,
    catalog_id: UUID | None = None,
    key_id: ApiKeyId | None = None,
) -> None:
    before = None if old is None else _json.encode(old).decode()
    if origin.reason is not None:
        new = {**new, "reason": origin.reason}
    who = (origin.actor, origin.request_id, origin.ip, origin.user_agent, origin.acting_user)
    about = (organization_id, action, hold_id, catalog_id, key_id)
    connection.execute(_INSERT, (*about, *who, before, _json.encode(new).decode()))
