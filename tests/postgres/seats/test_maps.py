"""The seat maps that a process caches: what they may keep, and what they must not."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from holdfast.adapters.postgres.engine import statements
from holdfast.adapters.postgres.seats.map_cache import SeatMaps
from holdfast.domain.ids import BlockId, SessionKey
from holdfast.domain.seats.seat_plan import Seating
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld

ROW = [f"Stalls A {number}" for number in range(1, 7)]


@dataclass
class Followed:
    """A hall, and the map that one process keeps of it."""

    world: PostgresWorld
    venue: Venue
    connect: Callable[[], psycopg.Connection[tuple[Any, ...]]]
    maps: SeatMaps = field(default_factory=SeatMaps)

    @property
    def key(self) -> SessionKey:
        return (self.venue.organization_id, self.venue.session_id)

    @property
    def ranks(self) -> dict[BlockId, int]:
        return {block_id: rank for rank, block_id in enumerate(self.venue.blocks.values())}

    def load(self) -> None:
        with self.connect() as connection:
            self.maps.load(connection, self.key, self.ranks)

    def follow(self, connection: Any = None) -> Seating | None:
        if connection is not None:
            return self.maps.follow(connection, self.key, self.ranks)
        with self.connect() as fresh:
            return self.maps.follow(fresh, self.key, self.ranks)

    def free(self, connection: Any = None) -> set[str]:
        seating = self.follow(connection)
        assert seating is not None
        names = {place.id: name for name, place in self.venue.places.items()}
        return {
            names[seat_id]
            for seat_id, spot in seating.plan.spots.items()
            if seating.free.masks[spot.row] >> spot.bit & 1
        }

    def block(self, connection: psycopg.Connection[tuple[Any, ...]], name: str) -> None:
        connection.execute(
            "UPDATE seat SET status = 'blocked', blocked_reason = 'test',"
            " changed_xid = pg_current_xact_id() WHERE id = %s",
            [self.venue.places[name].id],
        )

    def blocked_by_another(self, name: str) -> None:
        with self.connect() as connection:
            self.block(connection, name)

    def add_row(self, row: str) -> None:
        """Add a copy of row A, as an import would."""
        with self.connect() as connection:
            connection.execute(
                "INSERT INTO seat (organization_id, id, session_id, block_id, row_name, row_rank,"
                " number, position, x, y) SELECT organization_id, gen_random_uuid(), session_id,"
                " block_id, %s, row_rank + 1, number, position, x, y FROM seat"
                " WHERE session_id = %s",
                [row, self.venue.session_id],
            )


@pytest.fixture
def hall(database_url: str) -> Iterator[Followed]:
    world = PostgresWorld(database_url)
    venue = world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": 6}}, {"seat": ()})))
    followed = Followed(world, venue, lambda: psycopg.connect(database_url))
    followed.load()
    yield followed
    world.close()


def test_a_map_with_unknown_seats_is_read_again(hall: Followed) -> None:
    hall.blocked_by_another(ROW[0])
    hall.add_row("B")
    hall.blocked_by_another(ROW[1])
    assert hall.follow() is None
    assert hall.follow() is None, "it was used before it was read again"
    hall.load()
    seating = hall.follow()
    assert seating is not None
    assert [row.name for row in seating.plan.rows] == ["A", "B"]
    assert [mask.bit_count() for mask in seating.free.masks] == [4, 6]


def lose_own_rows(hall: Followed) -> set[str]:
    """The free seats after a group of this process took one, while a younger transaction of another
    process ended in between."""
    hall.blocked_by_another(ROW[0])
    with hall.connect() as group:
        group.execute("SELECT pg_current_xact_id()")
        hall.blocked_by_another(ROW[1])
        assert hall.free(group) == set(ROW[2:])
        hall.block(group, ROW[2])
    hall.blocked_by_another(ROW[3])
    return hall.free()


def test_writes_of_the_own_group_are_seen_afterwards(hall: Followed) -> None:
    assert lose_own_rows(hall) == set(ROW[4:])


def test_control_a_snapshot_of_the_group_hides_its_own_writes(
    hall: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = "CASE WHEN pg_current_xact_id_if_assigned() IS NULL THEN"
    assert guard in statements.CHANGED_SEATS
    unguarded = statements.CHANGED_SEATS.replace(guard, "CASE WHEN true THEN")
    monkeypatch.setattr(statements, "CHANGED_SEATS", unguarded)
    assert ROW[2] in lose_own_rows(hall)


def test_a_map_read_by_a_writer_is_not_kept(hall: Followed) -> None:
    hall.maps = SeatMaps()
    with hall.connect() as writer:
        hall.block(writer, ROW[0])
        hall.maps.load(writer, hall.key, hall.ranks)
    assert hall.follow() is None


@dataclass
class SlowConnection:
    """Its answers arrive only when let through."""

    inner: psycopg.Connection[tuple[Any, ...]]
    asked: threading.Event = field(default_factory=threading.Event)
    let_through: threading.Event = field(default_factory=threading.Event)

    def execute(self, query: str, *parameters: Any) -> Any:
        result = self.inner.execute(query.encode(), *parameters)
        if query == statements.NOW:
            self.inner.execute("SELECT").fetchone()  # the query has been answered
            self.asked.set()
            assert self.let_through.wait(60)
        return result


def test_a_slow_lane_neither_delays_others_nor_reverts_the_map(hall: Followed) -> None:
    hall.blocked_by_another(ROW[0])
    with hall.connect() as connection, ThreadPoolExecutor(1) as lane:
        slow = SlowConnection(connection)
        late = lane.submit(hall.free, slow)
        try:
            assert slow.asked.wait(60)
            with hall.connect() as other:
                other.execute(
                    "UPDATE seat SET status = 'available', blocked_reason = NULL,"
                    " changed_xid = pg_current_xact_id() WHERE id = %s",
                    [hall.venue.places[ROW[0]].id],
                )
                hall.block(other, ROW[1])
            with ThreadPoolExecutor(1) as another:
                assert another.submit(hall.free).result(60) == {ROW[0], *ROW[2:]}
        finally:
            slow.let_through.set()
        assert late.result(60) <= set(ROW)
    assert hall.free() == {ROW[0], *ROW[2:]}
