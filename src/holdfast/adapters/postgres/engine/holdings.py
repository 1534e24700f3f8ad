"""Reads what holders have, where it is limited."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.connections.pipeline import Pipeline, Rows
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.engine import statements as sql
from holdfast.domain.group.footprint import Holding, HoldingKey
from holdfast.domain.holds.holdings import Holdings, LiveHold
from holdfast.domain.ids import HoldId, SessionId


class HoldingQueries:
    """One query for holders with a user id, one for the others, without duplicates. Sent at once,
    read later."""

    def __init__(self, connection: Pipeline, wanted: Iterable[Holding]) -> None:
        users: dict[HoldingKey, rows.Row] = {}
        addresses: dict[HoldingKey, rows.Row] = {}
        for holding in wanted:
            holder, asked = holding.holder, (*holding.session_key, holding.event_id)
            if holder.user_id is not None:
                users[holding.key] = (*asked, holder.user_id)
            elif holder.email is not None:
                addresses[holding.key] = (*asked, holder.email.normalized)
        self._sent = [
            _send(connection, statement, questions)
            for statement, questions in (
                (sql.HOLDINGS_BY_USER, users),
                (sql.HOLDINGS_BY_EMAIL, addresses),
            )
            if questions
        ]

    def holdings(self) -> dict[HoldingKey, Holdings]:
        return {
            keys[number - 1]: Holdings(
                {hold.id: hold for hold in map(_live_from_json, live or ())},
                sold,
                given_up_at,
                is_complete=len(live or ()) < sql.HOLDINGS_MAX,
            )
            for keys, found in self._sent
            for number, live, sold, given_up_at in found
        }


def _send(
    connection: Pipeline, statement: str, questions: Mapping[HoldingKey, rows.Row]
) -> tuple[list[HoldingKey], Rows]:
    return list(questions), connection.execute(statement, rows.wire_columns(questions.values()))


def _live_from_json(row: Sequence[Any]) -> LiveHold:
    id_, session_id, quantity, expires_at, is_waiting, is_cart = row
    return LiveHold(
        HoldId(UUID(id_)),
        SessionId(UUID(session_id)),
        quantity,
        datetime.fromisoformat(expires_at),
        is_waiting,
        is_cart,
    )
