"""A seat. Its row has its own state, so one row lock decides who gets it.

    available -> held -> sold        any -> blocked (by an operator) -> what it was before
    sold -> available                when its ticket is cancelled

A held seat whose hold has lapsed is free, whatever its row says. A blocked seat that was sold
keeps its hold until its ticket is cancelled, so unblocking never frees a sold seat.
"""

from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from holdfast.domain.ids import BlockId, HoldId, HoldKey, OrganizationId, SeatId, SessionId
from holdfast.domain.immutable import immutable

SEAT_LABEL_LENGTH_MAX = 20
BLOCKED_REASON_LENGTH_MAX = 200


class SeatStatus(StrEnum):
    AVAILABLE = "available"
    HELD = "held"
    SOLD = "sold"
    BLOCKED = "blocked"


@immutable
class SeatPlace:
    """The fixed location of a seat. Neighbours have consecutive positions; a gap is an aisle."""

    id: SeatId
    block_id: BlockId
    row: str
    row_rank: int
    number: str
    position: int
    x: float = 0.0
    y: float = 0.0
    is_accessible: bool = False
    is_companion: bool = False
    is_restricted_view: bool = False


@immutable
class Seat:
    organization_id: OrganizationId
    session_id: SessionId
    place: SeatPlace
    status: SeatStatus = SeatStatus.AVAILABLE
    hold_id: HoldId | None = None
    holder_key: UUID | None = None
    held_until: datetime | None = None
    locked_at: datetime | None = None
    blocked_reason: str | None = None
    version: int = 1

    @property
    def id(self) -> SeatId:
        return self.place.id

    @property
    def hold_key(self) -> HoldKey | None:
        return None if self.hold_id is None else (self.organization_id, self.hold_id)

    def is_lapsed(self, now: datetime) -> bool:
        """Whether its hold's time is up and no command has recorded that yet."""
        return self.held_until is not None and self.held_until <= now

    def is_free(self, now: datetime) -> bool:
        return self.status is SeatStatus.AVAILABLE or self.is_lapsed(now)

    def is_blocked(self) -> bool:
        return self.status is SeatStatus.BLOCKED

    def is_sold(self) -> bool:
        """Whether it is sold, even if blocked since."""
        return self.hold_id is not None and self.status in {SeatStatus.SOLD, SeatStatus.BLOCKED}

    def is_held_by(self, holder_key: UUID, now: datetime) -> bool:
        return (
            self.status is SeatStatus.HELD
            and not self.is_lapsed(now)
            and self.holder_key == holder_key
        )

    def status_at(self, now: datetime) -> SeatStatus:
        """The status to show: a seat whose hold has lapsed is available."""
        return SeatStatus.AVAILABLE if self.is_lapsed(now) else self.status

    def remaining_seconds(self, now: datetime) -> int:
        """Whole seconds until its hold lapses; 0 if it is not held."""
        if self.held_until is None or self.is_lapsed(now):
            return 0
        return int((self.held_until - now).total_seconds())

    def held(self, hold_id: HoldId, holder_key: UUID, until: datetime, now: datetime) -> "Seat":
        assert self.status is SeatStatus.AVAILABLE
        return self._changed(SeatStatus.HELD, hold_id, holder_key, until, now)

    def extended(self, until: datetime) -> "Seat":
        assert self.status is SeatStatus.HELD
        return replace(self, held_until=until, version=self.version + 1)

    def released(self) -> "Seat":
        assert self.status is SeatStatus.HELD
        return self._changed(SeatStatus.AVAILABLE)

    def sold(self) -> "Seat":
        assert self.status is SeatStatus.HELD
        return self._changed(SeatStatus.SOLD, self.hold_id, self.holder_key, None, self.locked_at)

    def returned(self) -> "Seat":
        """After its ticket was cancelled. A blocked seat stays blocked."""
        assert self.is_sold()
        status = SeatStatus.BLOCKED if self.is_blocked() else SeatStatus.AVAILABLE
        return self._changed(status)

    def blocked(self, reason: str) -> "Seat":
        """Block it. A sold seat keeps its hold; a held one must be released first."""
        assert self.status in {SeatStatus.AVAILABLE, SeatStatus.SOLD}
        return replace(
            self,
            status=SeatStatus.BLOCKED,
            blocked_reason=reason,
            version=self.version + 1,
        )

    def unblocked(self) -> "Seat":
        assert self.is_blocked()
        status = SeatStatus.SOLD if self.is_sold() else SeatStatus.AVAILABLE
        return replace(self, status=status, blocked_reason=None, version=self.version + 1)

    def _changed(
        self,
        status: SeatStatus,
        hold_id: HoldId | None = None,
        holder_key: UUID | None = None,
        held_until: datetime | None = None,
        locked_at: datetime | None = None,
    ) -> "Seat":
        """Forgets its hold, apart from the given fields. `replace` takes three times as long."""
        return Seat(
            self.organization_id,
            self.session_id,
            self.place,
            status,
            hold_id,
            holder_key,
            held_until,
            locked_at,
            self.blocked_reason,
            self.version + 1,
        )
