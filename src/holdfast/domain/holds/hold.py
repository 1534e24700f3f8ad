"""A hold: a timed promise to a holder.

    waiting -> active -> converted        paid
       |         |-----> expired          its time was up
       |         '-----> cancelled        let go by its holder or an operator
       '-> expired | cancelled            it left the line before its turn

While it is active it may be extended, and its holder is warned once before the end. While it waits
it has no places yet, only its place in the line; once promoted it has fresh time.

Lapsed and expired are two facts: a hold is *lapsed* from `expires_at` on, whatever its row says;
it is *expired* once a command has written that down. Ask by intent (`can_convert(now)`), never by
comparing the status.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from operator import attrgetter
from typing import Any
from uuid import UUID

from holdfast.domain.ids import (
    BlockId,
    CheckoutId,
    HoldId,
    HoldKey,
    OrderId,
    OrganizationId,
    PoolId,
    SeatId,
    SessionId,
    SessionKey,
    TicketTypeId,
)
from holdfast.domain.values import Holder, Money

CART_TOKEN_LENGTH_MAX = 255
CART_ITEM_ID_LENGTH_MAX = 255
# More lines than one change can add: the numbers of lines are never used twice.
_LINES_PER_VERSION = 512
NOTES_LENGTH_MAX = 1000


class HoldStatus(StrEnum):
    WAITING = "waiting"
    ACTIVE = "active"
    CONVERTED = "converted"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class Source(StrEnum):
    WEB = "web"
    SCANNER = "scanner"


@dataclass(frozen=True, slots=True)
class Remarks:
    """What the platform wants to find again on the hold."""

    source: Source = Source.WEB
    cart_token: str | None = None
    notes: str | None = None


NO_REMARKS = Remarks()


@dataclass(frozen=True, slots=True)
class LineSeat:
    """The seat of a line, and how people find it."""

    id: SeatId
    block_id: BlockId
    block_name: str
    row: str
    number: str
    position: int
    is_accessible: bool = False


@dataclass(frozen=True, slots=True)
class CartItem:
    """Which item of its cart a line is for, and the call that it came with."""

    id: str
    group_id: UUID


@dataclass(frozen=True, slots=True)
class SeatWish:
    """What kind of seats somebody waits for: in one block or in any, so many of them accessible,
    all side by side or not; at what price, if the platform named one."""

    block_id: BlockId | None = None
    accessible: int = 0
    is_together: bool = False
    unit_price_minor: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One immutable ask inside a hold. It remembers the pools it drew from, so that what is given
    back goes where it came from even when the catalog has changed since. Its number tells it from
    all other lines that its hold ever had. Only a line that waits for seats has a wish."""

    ticket_type_id: TicketTypeId
    quantity: int
    unit_price_minor: int
    pool_ids: tuple[PoolId, ...]
    seat: LineSeat | None = None
    number: int = 0
    item: CartItem | None = None
    wish: SeatWish | None = None


def numbered_lines(lines: Iterable[Line], version: int) -> tuple[Line, ...]:
    """The lines that a version of a hold adds."""
    first = 0 if version == 1 else version * _LINES_PER_VERSION
    return tuple(
        line if line.number == number else replace(line, number=number)
        for number, line in enumerate(lines, first)
    )


@dataclass(frozen=True, slots=True)
class WaitingPlace:
    """A place in a line. `passes_seen` is how often anyone had passed in that line before."""

    line_id: UUID
    since: datetime
    passes_seen: int = 0


@dataclass(frozen=True, slots=True)
class Hold:
    organization_id: OrganizationId
    id: HoldId
    session_id: SessionId
    reference: str
    holder: Holder
    lines: tuple[Line, ...]
    currency: str
    status: HoldStatus
    version: int
    created_at: datetime
    updated_at: datetime
    held_at: datetime | None  # when the places became the holder's
    expires_at: datetime
    confirmed_at: datetime | None = None
    cancelled_at: datetime | None = None
    expired_at: datetime | None = None
    remarks: Remarks = NO_REMARKS
    warn_at: datetime | None = None  # None: it was warned, or its policy does not want it
    checkout_id: CheckoutId | None = None  # the checkout that it is or was in
    order_id: OrderId | None = None  # what it became when it was paid
    revives: HoldId | None = None  # the lapsed hold whose late payment it stands for
    is_cart: bool = False  # it is what its cart holds; the cart's name is in the remarks
    waiting: WaitingPlace | None = None  # while it waits
    seats: tuple[LineSeat, ...] = field(init=False)  # of its lines: asked for all the time

    def __post_init__(self) -> None:
        seats = tuple(line.seat for line in self.lines if line.seat is not None)
        object.__setattr__(self, "seats", seats)

    @property
    def key(self) -> HoldKey:
        return (self.organization_id, self.id)

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)

    @property
    def due_at(self) -> datetime:
        """When somebody has to do something about it: warn its holder, or write down its end."""
        return self.warn_at or self.expires_at

    @property
    def quantity(self) -> int:
        return sum(line.quantity for line in self.lines)

    @property
    def is_adjacent(self) -> bool | None:
        """Whether its seats are next to each other; None when it has none."""
        seats = self.seats
        if not seats:
            return None
        positions = sorted(seat.position for seat in seats)
        is_one_row = len({(seat.block_id, seat.row) for seat in seats}) == 1
        return is_one_row and positions[-1] - positions[0] == len(seats) - 1

    @property
    def total(self) -> Money:
        minor = sum(line.quantity * line.unit_price_minor for line in self.lines)
        return Money(minor, self.currency)

    @property
    def cart(self) -> str | None:
        """The cart that has it, and no other live hold."""
        return self.remarks.cart_token if self.is_cart else None

    def is_active(self, now: datetime) -> bool:
        """The promise stands."""
        return self.status is HoldStatus.ACTIVE and now < self.expires_at

    def is_waiting(self, now: datetime) -> bool:
        return self.status is HoldStatus.WAITING and now < self.expires_at

    def is_live(self, now: datetime) -> bool:
        """It has its places, or waits for them."""
        return self.is_active(now) or self.is_waiting(now)

    def is_lapsed(self, now: datetime) -> bool:
        """Its time has passed and no command has written so yet."""
        return self.status in _WITH_AN_END and now >= self.expires_at

    def is_expired(self, now: datetime) -> bool:
        return self.status is HoldStatus.EXPIRED or self.is_lapsed(now)

    def is_converted(self) -> bool:
        return self.status is HoldStatus.CONVERTED

    def is_cancelled(self) -> bool:
        return self.status is HoldStatus.CANCELLED

    def can_expire(self, now: datetime) -> bool:
        return self.is_lapsed(now)

    def can_convert(self, now: datetime) -> bool:
        return self.is_active(now)

    def can_release(self, now: datetime) -> bool:
        return self.is_live(now)

    def can_change(self, now: datetime) -> bool:
        return self.is_live(now)

    def can_extend(self, now: datetime) -> bool:
        return self.is_active(now)

    def can_warn(self, now: datetime) -> bool:
        return self.is_active(now) and self.warn_at is not None and self.warn_at <= now

    def occupies_places(self) -> bool:
        """Its units are counted as held, lapsed or not."""
        return self.status is HoldStatus.ACTIVE

    def is_over(self) -> bool:
        """It has reached its one last state."""
        return self.status not in _WITH_AN_END

    def remaining_seconds(self, now: datetime) -> int:
        """Whole seconds left, rounded down, so that nobody is shown more than there is; 0 when the
        hold is not live."""
        return int((self.expires_at - now).total_seconds()) if self.is_live(now) else 0

    def status_at(self, now: datetime) -> HoldStatus:
        """What everyone is shown: a lapsed hold is expired."""
        return HoldStatus.EXPIRED if self.is_lapsed(now) else self.status

    def expired(self, now: datetime) -> "Hold":
        assert self.can_expire(now)
        return self._changed(
            now, status=HoldStatus.EXPIRED, expired_at=now, warn_at=None, waiting=None
        )

    def released(self, now: datetime) -> "Hold":
        assert self.can_release(now)
        return self._changed(
            now, status=HoldStatus.CANCELLED, cancelled_at=now, warn_at=None, waiting=None
        )

    def changed(
        self,
        now: datetime,
        kept: Iterable[Line],
        added: Iterable[Line],
        holder: Holder,
        place: WaitingPlace | None = None,
    ) -> "Hold":
        """Other lines, the same time, the same person in newer words. One that waits keeps its
        place or gets another."""
        assert self.can_change(now)
        assert (place is None) is (self.waiting is None)
        in_order = sorted(kept, key=lambda line: line.number)
        lines = (*in_order, *numbered_lines(added, self.version + 1))
        changed = self._changed(now, lines=lines, holder=holder, waiting=place)
        assert len({seat.id for seat in changed.seats}) == len(changed.seats)
        return changed

    def promoted(
        self, now: datetime, until: datetime, warning_seconds: int, lines: tuple[Line, ...]
    ) -> "Hold":
        """Its turn has come: it gets its places, and fresh time."""
        assert self.is_waiting(now)
        return self._changed(
            now,
            status=HoldStatus.ACTIVE,
            held_at=now,
            expires_at=until,
            warn_at=warning_time(now, until, warning_seconds),
            lines=lines,
            waiting=None,
        )

    def converted(self, now: datetime, order_id: OrderId) -> "Hold":
        assert self.can_convert(now)
        return self._changed(
            now, status=HoldStatus.CONVERTED, confirmed_at=now, order_id=order_id, warn_at=None
        )

    def extended(self, now: datetime, until: datetime, warning_seconds: int) -> "Hold":
        """Never shorter than before. Who was warned already is warned again before the new end."""
        assert self.can_extend(now)
        assert until > self.expires_at
        return self._changed(
            now, expires_at=until, warn_at=warning_time(now, until, warning_seconds)
        )

    def checked_out(
        self, now: datetime, checkout_id: CheckoutId, until: datetime, warning_seconds: int
    ) -> "Hold":
        """In a checkout, and extended by it where `until` is later than its end."""
        if until > self.expires_at:
            extended = self.extended(now, until, warning_seconds)
            return replace(extended, checkout_id=checkout_id)
        assert self.can_extend(now)
        return self._changed(now, checkout_id=checkout_id)

    def warned(self, now: datetime) -> "Hold":
        assert self.can_warn(now)
        return self._changed(now, warn_at=None)

    def _changed(self, now: datetime, **changes: Any) -> "Hold":
        values = dict(zip(_FIELDS, _values_of(self), strict=True)) | changes
        return Hold(**values | {"version": self.version + 1, "updated_at": now})


_WITH_AN_END = frozenset({HoldStatus.WAITING, HoldStatus.ACTIVE})

# `dataclasses.replace` does the same and takes three times as long.
_FIELDS = tuple(each.name for each in fields(Hold) if each.init)
_values_of = attrgetter(*_FIELDS)


def warning_time(now: datetime, expires_at: datetime, warning_seconds: int) -> datetime | None:
    """A hold that lasts no longer than the warning would come before its end is not warned."""
    warn_at = expires_at - timedelta(seconds=warning_seconds)
    return warn_at if warning_seconds and warn_at > now else None


def rounded_up(moment: datetime) -> datetime:
    """Times are whole seconds: the buyer never gets less than what was promised."""
    return datetime.fromtimestamp(math.ceil(moment.timestamp()), UTC)
