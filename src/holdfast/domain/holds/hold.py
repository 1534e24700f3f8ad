"""A hold: tickets or seats reserved for a holder for a limited time.

    waiting -> active -> converted        paid
       |         |-----> expired          ran out of time, or ended early by an operator
       |         '-----> cancelled        released by its holder or an operator
       '-> expired | cancelled            left the waitlist before its turn

    pending -> active | failed           asks an Inventory Service for its places

An active hold may be extended, and its holder is warned once before it expires. A waiting hold has
no places yet, only a place on the waitlist; its time starts anew when it is promoted.

A hold is *lapsed* from `expires_at` on, whatever its row says, and *expired* once a command has
recorded that. Ask by intent (`can_convert(now)`); never compare the status.
"""

import math
from collections.abc import Iterable
from dataclasses import field, fields, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
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
from holdfast.domain.immutable import immutable
from holdfast.domain.values import NO_METADATA, Holder, Metadata, Money

CART_TOKEN_LENGTH_MAX = 255
CART_ITEM_ID_LENGTH_MAX = 255
# More lines than one change can add, so line numbers are never reused.
_LINES_PER_VERSION = 512
NOTES_LENGTH_MAX = 1000


class HoldStatus(StrEnum):
    PENDING = "pending"
    FAILED = "failed"
    WAITING = "waiting"
    ACTIVE = "active"
    CONVERTED = "converted"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class Source(StrEnum):
    WEB = "web"
    SCANNER = "scanner"
    DESK = "desk"


@immutable
class Remarks:
    """The platform's own data on a hold."""

    source: Source = Source.WEB
    cart_token: str | None = None
    notes: str | None = None
    metadata: Metadata = NO_METADATA


NO_REMARKS = Remarks()


@immutable
class LineSeat:
    """The seat of a line, with its label for people."""

    id: SeatId
    block_id: BlockId
    block_name: str
    row: str
    number: str
    position: int
    is_accessible: bool = False


@immutable
class CartItem:
    """The cart item a line belongs to, and the call that added it."""

    id: str
    group_id: UUID


@immutable
class SeatWish:
    """The seats a waiting line wants: in one block or any, how many accessible, together or not,
    and at which price if the platform named one."""

    block_id: BlockId | None = None
    accessible: int = 0
    is_together: bool = False
    unit_price_minor: int | None = None


@immutable
class Line:
    """An immutable line of a hold. It stores the pools it drew from, so that returned units go back
    there even if the catalog has changed. Its number is unique among all lines its hold ever had.
    Only a line that waits for seats has a wish."""

    ticket_type_id: TicketTypeId
    quantity: int
    unit_price_minor: int
    pool_ids: tuple[PoolId, ...]
    seat: LineSeat | None = None
    number: int = 0
    item: CartItem | None = None
    wish: SeatWish | None = None

    @property
    def is_remote(self) -> bool:
        """Whether it neither draws from a pool here nor has, or waits for, a seat."""
        return not self.pool_ids and self.seat is None and self.wish is None

    def numbered(self, number: int) -> "Line":
        if self.number == number:
            return self
        price, pools = self.unit_price_minor, self.pool_ids
        of_hold = (self.seat, number, self.item, self.wish)
        return Line(self.ticket_type_id, self.quantity, price, pools, *of_hold)


def numbered_lines(lines: Iterable[Line], version: int) -> tuple[Line, ...]:
    """Number the lines that a version of a hold adds."""
    first = 0 if version == 1 else version * _LINES_PER_VERSION
    return tuple([line.numbered(number) for number, line in enumerate(lines, first)])


@immutable
class WaitingPlace:
    """A place in a waitlist queue. `passes_seen` is the queue's count of overtakes at joining."""

    queue_id: UUID
    since: datetime
    passes_seen: int = 0


@immutable
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
    held_at: datetime | None  # when it got its places
    expires_at: datetime
    confirmed_at: datetime | None = None
    cancelled_at: datetime | None = None
    expired_at: datetime | None = None
    remarks: Remarks = NO_REMARKS
    warn_at: datetime | None = None  # None: already warned, or no warning in its policy
    checkout_id: CheckoutId | None = None  # its latest checkout
    order_id: OrderId | None = None  # the order it was converted to
    revives: HoldId | None = None  # the expired hold it replaces: renewed, or paid for late
    is_cart: bool = False  # a cart's hold; remarks.cart_token names the cart
    waiting: WaitingPlace | None = None  # set while waiting
    extensions: int = 0  # by its holder
    given_up_at: datetime | None = None  # when the holder let its places go without buying them
    # Computed once, because every step reads them.
    key: HoldKey = field(init=False)
    seats: tuple[LineSeat, ...] = field(init=False)
    quantity: int = field(init=False)

    def __post_init__(self) -> None:
        seats = tuple([line.seat for line in self.lines if line.seat is not None])
        object.__setattr__(self, "key", (self.organization_id, self.id))
        object.__setattr__(self, "seats", seats)
        object.__setattr__(self, "quantity", sum([line.quantity for line in self.lines]))

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)

    @property
    def due_at(self) -> datetime:
        """When the reaper has to act: warn the holder or expire the hold."""
        return self.warn_at or self.expires_at

    @property
    def is_adjacent(self) -> bool | None:
        """Whether its seats are next to each other; None without seats."""
        seats = self.seats
        if not seats:
            return None
        positions = sorted(seat.position for seat in seats)
        is_one_row = len({(seat.block_id, seat.row) for seat in seats}) == 1
        return is_one_row and positions[-1] - positions[0] == len(seats) - 1

    @property
    def total_minor(self) -> int:
        return sum(line.quantity * line.unit_price_minor for line in self.lines)

    @property
    def total(self) -> Money:
        return Money(self.total_minor, self.currency)

    @property
    def cart(self) -> str | None:
        """The cart it belongs to. A cart has at most one live hold."""
        return self.remarks.cart_token if self.is_cart else None

    def is_active(self, now: datetime) -> bool:
        return self.status is HoldStatus.ACTIVE and now < self.expires_at

    def is_waiting(self, now: datetime) -> bool:
        return self.status is HoldStatus.WAITING and now < self.expires_at

    def is_pending(self) -> bool:
        return self.status is HoldStatus.PENDING

    def has_failed(self) -> bool:
        return self.status is HoldStatus.FAILED

    @property
    def is_remote(self) -> bool:
        """Whether an Inventory Service counts its tickets."""
        return bool(self.lines) and self.lines[0].is_remote

    def is_live(self, now: datetime) -> bool:
        """Whether it has its places or waits for them."""
        return self.is_active(now) or self.is_waiting(now)

    def is_lapsed(self, now: datetime) -> bool:
        """Whether its time is up and no command has recorded that yet."""
        return self.status in _WITH_AN_END and now >= self.expires_at

    def is_expired(self, now: datetime) -> bool:
        return self.status is HoldStatus.EXPIRED or self.is_lapsed(now)

    def is_converted(self) -> bool:
        return self.status is HoldStatus.CONVERTED

    def is_cancelled(self) -> bool:
        return self.status is HoldStatus.CANCELLED

    def belongs_to(self, holder: Holder | None) -> bool:
        """Whether it is theirs, or nobody is named. To strangers, commands answer as if it did not
        exist."""
        return holder is None or self.holder.is_person(holder)

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
        """Whether its units count as held, lapsed or not."""
        return self.status is HoldStatus.ACTIVE

    def is_over(self) -> bool:
        """Whether it is in a final state."""
        return self.status not in _UNENDED

    def remaining_seconds(self, now: datetime) -> int:
        """Whole seconds left, rounded down to never promise too much; 0 if the hold is not live."""
        if self.status not in _WITH_AN_END or now >= self.expires_at:
            return 0
        return int((self.expires_at - now).total_seconds())

    def status_at(self, now: datetime) -> HoldStatus:
        """The status to show: a lapsed hold is expired."""
        is_lapsed = self.status in _WITH_AN_END and now >= self.expires_at
        return HoldStatus.EXPIRED if is_lapsed else self.status

    def activated(self, now: datetime, warning_seconds: int) -> "Hold":
        """The Inventory Service has reserved its places. Its time has run since it was placed."""
        assert self.is_pending()
        warn_at = warning_time(now, self.expires_at, warning_seconds)
        return self._changed(now, status=HoldStatus.ACTIVE, held_at=now, warn_at=warn_at)

    def failed(self, now: datetime) -> "Hold":
        """It never got places, as far as we know."""
        assert self.is_pending()
        return self._changed(now, status=HoldStatus.FAILED)

    def expired(self, now: datetime) -> "Hold":
        assert self.can_expire(now)
        return self._changed(
            now,
            status=HoldStatus.EXPIRED,
            expired_at=now,
            given_up_at=None if self.held_at is None else self.expires_at,
            warn_at=None,
            waiting=None,
        )

    def expired_early(self, now: datetime) -> "Hold":
        """End it as if its time were up now. Its holder has not let the places go."""
        assert self.is_active(now)
        # A later second than that of its creation.
        until = rounded_up(now + timedelta(microseconds=1))
        return self._changed(
            now,
            status=HoldStatus.EXPIRED,
            expired_at=now,
            expires_at=min(self.expires_at, until),
            warn_at=None,
        )

    def released(self, now: datetime, *, is_given_up: bool = True) -> "Hold":
        """`is_given_up` is false if it is not its holder who lets the places go."""
        assert self.can_release(now)
        return self._changed(
            now,
            status=HoldStatus.CANCELLED,
            cancelled_at=now,
            given_up_at=now if is_given_up and self.held_at is not None else None,
            warn_at=None,
            waiting=None,
        )

    def changed(
        self,
        now: datetime,
        kept: Iterable[Line],
        added: Iterable[Line],
        holder: Holder,
        remarks: Remarks,
        *,
        place: WaitingPlace | None = None,
    ) -> "Hold":
        """Replace lines and update the holder's details and the remarks; the expiry stays. A
        waiting hold keeps its place on the waitlist or gets another."""
        assert self.can_change(now)
        assert (place is None) is (self.waiting is None)
        in_order = sorted(kept, key=lambda line: line.number)
        lines = (*in_order, *numbered_lines(added, self.version + 1))
        changed = self._changed(now, lines=lines, holder=holder, remarks=remarks, waiting=place)
        assert len({seat.id for seat in changed.seats}) == len(changed.seats)
        return changed

    def promoted(
        self, now: datetime, until: datetime, warning_seconds: int, lines: tuple[Line, ...]
    ) -> "Hold":
        """Give it its places and a new expiry."""
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

    def extended(
        self, now: datetime, until: datetime, warning_seconds: int, *, is_counted: bool = False
    ) -> "Hold":
        """Extend it; the holder is warned again before the new expiry."""
        assert self.can_extend(now)
        assert until > self.expires_at
        return self._changed(
            now,
            expires_at=until,
            warn_at=warning_time(now, until, warning_seconds),
            extensions=self.extensions + is_counted,
        )

    def checked_out(
        self, now: datetime, checkout_id: CheckoutId, until: datetime, warning_seconds: int
    ) -> "Hold":
        """Add it to a checkout, and extend it if `until` is later than its expiry."""
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


# The reaper ends these; a pending hold is ended by whoever asks the Inventory Service.
_WITH_AN_END = frozenset({HoldStatus.WAITING, HoldStatus.ACTIVE})
_UNENDED = _WITH_AN_END | {HoldStatus.PENDING}

# Three times as fast as `dataclasses.replace`.
_FIELDS = tuple(each.name for each in fields(Hold) if each.init)
_values_of = attrgetter(*_FIELDS)


def warning_time(now: datetime, expires_at: datetime, warning_seconds: int) -> datetime | None:
    """When to warn; None without a warning period, or if it has already begun."""
    if not warning_seconds:
        return None
    warn_at = expires_at - timedelta(seconds=warning_seconds)
    return warn_at if warn_at > now else None


@lru_cache(maxsize=16)  # for all holds of a group
def end_of_hold(now: datetime, ttl_seconds: int) -> datetime:
    return rounded_up(now) + timedelta(seconds=ttl_seconds)


@lru_cache(maxsize=16)
def rounded_up(moment: datetime) -> datetime:
    """Round up to whole seconds, so that buyers never get less time than promised."""
    return datetime.fromtimestamp(math.ceil(moment.timestamp()), UTC)
