"""Reads what holders already have, where a limit applies."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.connections.pipeline import Pipeline, Row
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.engine import statements as sql
from holdfast.domain.group.footprint import Holding, HoldingKey
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.holds.holdings import NOTHING_HELD, Holdings, LiveHold
from holdfast.domain.ids import HoldId, SessionId


class HoldingQueries:
    """Queries for the holdings in a session and for those in an event, each for holders with a user
    id and for the others, without duplicates. Sent at once, read later. An address has several
    hashes: rows from before a rotation of the secret have an older one."""

    def __init__(
        self, connection: Pipeline, wanted: Iterable[Holding], hashes: HolderHashes
    ) -> None:
        self._wanted = {holding.key: holding for holding in wanted}
        asked: dict[_Query, list[tuple[HoldingKey, rows.Row]]] = {}
        for key, (session_key, holder, event_id) in self._wanted.items():
            where = session_key if event_id is None else (*session_key, event_id)
            if holder.user_id is not None:
                query = _BY_USER[event_id is not None]
                asked.setdefault(query, []).append((key, (*where, holder.user_id)))
            elif holder.email is not None:
                query = _BY_EMAIL[event_id is not None]
                names = hashes.address_keys(session_key[0], holder.email)
                asked.setdefault(query, []).extend([(key, (*where, name)) for name in names])
        self._sent = [
            (
                read,
                [key for key, _ in questions],
                connection.execute(statement, rows.wire_columns(row for _, row in questions)),
            )
            for (statement, read), questions in asked.items()
        ]

    def holdings(self) -> dict[HoldingKey, Holdings]:
        holdings = dict.fromkeys(self._wanted, NOTHING_HELD)
        for read, keys, found in self._sent:
            for number, part in read(found):
                key = keys[number - 1]
                holdings[key] = _merged(holdings[key], part)
        return holdings


def _held_in_session(found: Iterable[Row]) -> Iterator[tuple[int, Holdings]]:
    live: dict[int, list[LiveHold]] = {}
    for number, *hold in found:
        live.setdefault(number, []).append(LiveHold(*hold))
    for number, holds in live.items():
        yield number, _holdings(holds)


def _held_in_event(found: Iterable[Row]) -> Iterator[tuple[int, Holdings]]:
    for number, live, *others in found:
        yield number, _holdings([_live_from_json(each) for each in live or ()], *others)


_Query = tuple[str, Callable[[Iterable[Row]], Iterator[tuple[int, Holdings]]]]
_BY_USER: tuple[_Query, _Query] = (
    (sql.HELD_IN_SESSION_BY_USER, _held_in_session),
    (sql.HOLDINGS_BY_USER, _held_in_event),
)
_BY_EMAIL: tuple[_Query, _Query] = (
    (sql.HELD_IN_SESSION_BY_EMAIL, _held_in_session),
    (sql.HOLDINGS_BY_EMAIL, _held_in_event),
)


def _merged(one: Holdings, other: Holdings) -> Holdings:
    """What rows with several hashes of the same address say of its holder."""
    times = [at for at in (one.given_up_at, other.given_up_at) if at is not None]
    return Holdings(
        {**one.holds, **other.holds},
        one.sold + other.sold,
        max(times, default=None),
        is_complete=one.is_complete and other.is_complete,
        has_all_carts=one.has_all_carts and other.has_all_carts,
    )


def _holdings(
    live: Sequence[LiveHold],
    sold: int = 0,
    given_up_at: datetime | None = None,
    are_sessions_too_many: bool = False,
) -> Holdings:
    # Waiting holds and carts are read first.
    first = sum(hold.is_waiting or hold.is_cart for hold in live)
    return Holdings(
        {hold.id: hold for hold in live},
        sold,
        given_up_at,
        is_complete=len(live) < sql.HOLDINGS_MAX and not are_sessions_too_many,
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
