"""Reads what holders already have, where a limit applies."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.connections.pipeline import Pipeline, Rows
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.engine import statements as sql
from holdfast.domain.group.footprint import Holding, HoldingKey
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.holds.holdings import Holdings, LiveHold
from holdfast.domain.ids import HoldId, SessionId


class HoldingQueries:
    """One query for holders with a user id, one for the others, without duplicates. Sent at once,
    read later. After a rotation of the secret, an address has several hashes."""

    def __init__(
        self, connection: Pipeline, wanted: Iterable[Holding], hashes: HolderHashes
    ) -> None:
        users: dict[HoldingKey, list[rows.Row]] = {}
        addresses: dict[HoldingKey, list[rows.Row]] = {}
        for holding in wanted:
            holder, asked = holding.holder, (*holding.session_key, holding.event_id)
            if holder.user_id is not None:
                users[holding.key] = [(*asked, holder.user_id)]
            elif holder.email is not None:
                keys = hashes.address_keys(holding.session_key[0], holder.email)
                addresses[holding.key] = [(*asked, key) for key in keys]
        self._sent = [
            _send(connection, statement, questions)
            for statement, questions in (
                (sql.HOLDINGS_BY_USER, users),
                (sql.HOLDINGS_BY_EMAIL, addresses),
            )
            if questions
        ]

    def holdings(self) -> dict[HoldingKey, Holdings]:
        holdings: dict[HoldingKey, Holdings] = {}
        for keys, found in self._sent:
            for number, live, *others in found:
                key = keys[number - 1]
                read = _holdings(live or (), *others)
                holdings[key] = _merged(holdings[key], read) if key in holdings else read
        return holdings


def _send(
    connection: Pipeline, statement: str, questions: Mapping[HoldingKey, Sequence[rows.Row]]
) -> tuple[list[HoldingKey], Rows]:
    keys = [key for key, asked in questions.items() for _ in asked]
    asked = [row for some in questions.values() for row in some]
    return keys, connection.execute(statement, rows.wire_columns(asked))


def _merged(one: Holdings, other: Holdings) -> Holdings:
    """What rows with two hashes of the same address say of its holder."""
    times = [at for at in (one.given_up_at, other.given_up_at) if at is not None]
    return Holdings(
        {**one.holds, **other.holds},
        one.sold + other.sold,
        max(times, default=None),
        is_complete=one.is_complete and other.is_complete,
        has_all_carts=one.has_all_carts and other.has_all_carts,
    )


def _holdings(
    live: Sequence[Sequence[Any]],
    sold: int,
    given_up_at: datetime | None,
    are_sessions_too_many: bool,
) -> Holdings:
    holds = {hold.id: hold for hold in map(_live_from_json, live)}
    # Waiting holds and carts are read first.
    first = sum(hold.is_waiting or hold.is_cart for hold in holds.values())
    return Holdings(
        holds,
        sold,
        given_up_at,
        is_complete=len(holds) < sql.HOLDINGS_MAX and not are_sessions_too_many,
        has_all_carts=first < sql.HOLDINGS_MAX and not are_sessions_too_many,
    )


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
