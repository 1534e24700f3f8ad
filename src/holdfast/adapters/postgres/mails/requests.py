"""Requests to send an e-mail again: a fact for the notifier, and an audit entry of the hold."""

import msgspec
from uuid_utils.compat import uuid7

from holdfast.adapters.postgres.answers import PATIENCE
from holdfast.adapters.postgres.audit.entries import write_entry
from holdfast.adapters.postgres.catalog.statements import BESIDE_REBASE, INSERT_FACT
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.transitions import FactType
from holdfast.domain.ids import OrganizationId
from holdfast.domain.mails.resend import (
    RESENDS_MAX,
    RESENDS_SECONDS,
    MailRequest,
    too_many_resends,
)
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import JsonValue
from holdfast.ports.facts.log import PARTITIONS

_TYPE = FactType.NOTICE_REQUESTED.value
# Before the first write: facts are ordered by the ids that transactions get then.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_COUNT = f"""
SELECT count(*) FROM audit WHERE organization_id = %s AND hold_id = %s AND action = '{_TYPE}'
    AND at > statement_timestamp() - interval '{RESENDS_SECONDS} seconds'
"""  # noqa: S608
_KNOWN = """
SELECT 1 FROM outbox WHERE organization_id = %s AND hold_id IS NULL AND version = 1
    AND type = %s AND catalog_id = %s
"""

_json = msgspec.json.Encoder()


class PostgresMailRequests:
    """Implements MailRequestStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self, organization_id: OrganizationId, request: MailRequest, origin: Origin
    ) -> Refusal | None:
        hold_id = request.hold_id
        with self._database.transaction(organization_id) as connection:
            connection.execute(PATIENCE)
            connection.execute(BESIDE_REBASE)
            connection.execute(_LOCK, (f"mail_request {organization_id} {hold_id}",))
            known = connection.execute(_KNOWN, (organization_id, _TYPE, request.id))
            if known.fetchone() is not None:
                return None
            ((recent,),) = connection.execute(_COUNT, (organization_id, hold_id))
            if recent >= RESENDS_MAX:
                return too_many_resends()
            payload = _payload(organization_id, request)
            # Not in the order of the hold's own facts: it is no version of the hold.
            about = (organization_id, uuid7(), request.id, 1, _TYPE)
            partition = hold_id.int % PARTITIONS
            connection.execute(INSERT_FACT, (*about, partition, _json.encode(payload).decode()))
            new: dict[str, JsonValue] = {"mail": request.kind.value}
            if origin.reason is not None:
                new["reason"] = origin.reason
            write_entry(
                connection, organization_id, _TYPE, origin, old=None, new=new, hold_id=hold_id
            )
        return None


def _payload(organization_id: OrganizationId, request: MailRequest) -> dict[str, JsonValue]:
    payload: dict[str, JsonValue] = {
        "notice_id": str(request.id),
        "organization_id": str(organization_id),
        "mail": request.kind.value,
        "hold_id": str(request.hold_id),
    }
    if request.order_id is not None:
        payload["order_id"] = str(request.order_id)
    return payload
