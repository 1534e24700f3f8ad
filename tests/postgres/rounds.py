"""Groups without an engine: write to the store and read back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from uuid_utils.compat import uuid7

from holdfast.adapters.postgres.engine.store import PostgresConnection
from holdfast.domain.group.footprint import Resource, ResourceKind, text_resource
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.hold import Hold, HoldStatus, Line, Remarks, WaitingPlace, numbered_lines
from holdfast.domain.ids import CartKey, HoldId, SessionKey
from holdfast.domain.values import Holder
from holdfast.domain.waitlist.queues import queue_id_of
from holdfast.ports.store import Group, GroupWrites, Wanted
from tests.contract.venues import BUYER, ORIGIN, Venue
from tests.contract.worlds import PostgresWorld


@dataclass
class Round:
    """One group: make and change holds, then commit all at once."""

    group: Group
    ledger: Ledger
    venue: Venue
    transitions: list[Transition] = field(default_factory=list)

    @property
    def now(self) -> datetime:
        return self.ledger.now

    def line(self, quantity: int = 2, *pools: str) -> Line:
        """A line for this quantity of the floor, or of these pools."""
        drawn = tuple(self.venue.pools[name] for name in pools or ("floor",))
        return Line(self.venue.ticket_types["standing"], quantity, 4500, drawn)

    def place(
        self,
        *lines: Line,
        cart: str | None = None,
        holder: Holder = BUYER,
        since: datetime | None = None,
    ) -> Hold:
        """An active hold, or one waiting since then."""
        lines = numbered_lines(lines or (self.line(),), 1)
        wants = [pool_id for line in lines for pool_id in line.pool_ids]
        place = None if since is None else WaitingPlace(queue_id_of(set(wants)), since)
        hold = Hold(
            organization_id=self.venue.organization_id,
            id=HoldId(uuid7()),
            session_id=self.venue.session_id,
            reference=str(uuid7()),
            holder=holder,
            lines=lines,
            currency="EUR",
            status=HoldStatus.ACTIVE if place is None else HoldStatus.WAITING,
            version=1,
            created_at=self.now,
            updated_at=self.now,
            held_at=self.now if place is None else None,
            expires_at=(self.now + timedelta(seconds=601)).replace(microsecond=0),
            remarks=Remarks(cart_token=cart),
            is_cart=cart is not None,
            waiting=place,
        )
        return self.apply(None, hold)

    def change(self, hold: Hold, kept: Sequence[Line], *added: Line) -> Hold:
        return self.apply(
            hold, hold.changed(self.now, kept, added, hold.holder, hold.remarks, place=hold.waiting)
        )

    def promote(self, hold: Hold) -> Hold:
        until = hold.expires_at + timedelta(seconds=60)
        return self.apply(hold, hold.promoted(self.now, until, 0, hold.lines))

    def release(self, hold: Hold) -> Hold:
        return self.apply(hold, hold.released(self.now))

    def move_back(self, hold: Hold) -> Hold:
        """Move the hold one place back in its queue."""
        assert hold.waiting is not None
        later = hold.waiting.since + timedelta(seconds=1)
        moved = replace(hold.waiting, since=later, passes_seen=hold.waiting.passes_seen + 1)
        return self.apply(
            hold, hold.changed(self.now, hold.lines, (), hold.holder, hold.remarks, place=moved)
        )

    def apply(self, before: Hold | None, after: Hold) -> Hold:
        transition = Transition(before, after, ORIGIN)
        self.ledger.apply([transition])
        self.transitions.append(transition)
        return after

    def commit(self) -> None:
        self.group.write_and_commit(
            GroupWrites(self.ledger, self.transitions, [], changes=self.transitions)
        )


@dataclass
class Rounds:
    world: PostgresWorld
    venue: Venue
    connection: PostgresConnection = field(init=False)

    def __post_init__(self) -> None:
        self.connection = self.world.store.connect()

    @contextmanager
    def in_another_process(self) -> Iterator["Rounds"]:
        """For the same venue, with nothing in memory."""
        other = Rounds(PostgresWorld(self.world.url), self.venue)
        yield other
        other.close()

    def close(self) -> None:
        self.connection.close()

    @property
    def session_key(self) -> SessionKey:
        return (self.venue.organization_id, self.venue.session_id)

    def cart(self, name: str) -> CartKey:
        return (self.venue.organization_id, name)

    def resource(self, kind: ResourceKind, name: UUID) -> Resource:
        return Resource(kind, self.venue.organization_id, name)

    def wanted(self, *holds: Hold, carts: Sequence[str] = ()) -> Wanted:
        keys = [self.cart(name) for name in carts]
        resources = {
            self.resource(ResourceKind.SESSION, self.venue.session_id),
            self.resource(ResourceKind.WAITLIST, self.venue.session_id),
            *(self.resource(ResourceKind.POOL, id_) for id_ in self.venue.pools.values()),
            *(self.resource(ResourceKind.HOLD, hold.id) for hold in holds),
            *(text_resource(ResourceKind.CART, key) for key in keys),
        }
        return Wanted(frozenset(resources), carts=keys)

    @contextmanager
    def round(self, *holds: Hold, carts: Sequence[str] = ()) -> Iterator[Round]:
        with self.connection.group() as group:
            wanted = self.wanted(*holds, carts=carts)
            yield Round(group, group.lock_and_read(wanted), self.venue)
