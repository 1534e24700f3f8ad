"""Requests of the state machine, independent of the store."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

from hypothesis import strategies as st

from holdfast.domain.carts.fill_cart import FillCart
from holdfast.domain.group.origin import IdempotencyKey
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import Ask, SeatAsk
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.values import Holder
from tests.contract.venues import Hall, Venue

# Time passes in steps of 1000 s, and holds end and are warned between steps, so none is close to
# its end however slow the machine is.
TTL_SECONDS = 6500
STEP_SECONDS = 1000
STALLS_CAPACITY = 6

POOLS = {"house": 12, "adults": 8, "children": 8}
HALL = Hall(
    {"Stalls": {"A": 5, "B": 4}, "Balcony": {"C": 4}},
    {"seat": (), "junior": ("children",)},
    capacities={"Stalls": STALLS_CAPACITY},
    sold_in={"Balcony": ("seat",)},
    aisles_after=frozenset({3}),
    accessible=frozenset({"Stalls A 1"}),
    companion=frozenset({"Stalls A 2"}),
    restricted_view=frozenset({"Balcony C 4"}),
)
TICKET_TYPES = {
    "adult": ("adults", "house"),
    "child": ("children", "house"),
    "guest": ("house",),
}
SEAT_NAMES = [
    f"{block} {row} {number}"
    for block, rows in HALL.blocks.items()
    for row, width in rows.items()
    for number in range(1, width + 1)
]
PEOPLE = [Holder(user_id=f"user-{number}") for number in range(3)]
LENIENT = HoldPolicy(
    TTL_SECONDS,
    10,
    checkout_extension_seconds=3000,
    lifetime_max_seconds=12_500,
    warning_seconds=600,
    late_payment_seconds=4000,
)
WAITING = replace(
    LENIENT, waitlist=True, waiting_seconds=8500, waiting_places_max=3, late_payment_seconds=0
)
POLICIES = {
    "lenient": LENIENT,
    "strict": replace(LENIENT, one_active_hold=True, refuse_orphans=True, late_payment_seconds=0),
    "waiting": WAITING,
    "limited": replace(
        WAITING,
        holder_units_max=8,
        holder_holds_max=4,
        holder_carts_max=1,
        extensions_max=1,
        cooldown_seconds=2750,
    ),
    "passing": replace(WAITING, waiting_passes_max=2, late_payment_seconds=4000),
}
CARTS = ["first", "second"]

MakeAsk = Callable[[Venue], Ask | SeatAsk]
seat_names = st.lists(st.sampled_from(SEAT_NAMES), min_size=1, max_size=3, unique=True)


def admission(ticket_type: str, quantity: int) -> MakeAsk:
    return lambda venue: venue.some(ticket_type, quantity)


def best(
    ticket_type: str, quantity: int, block: str | None, accessible: int, together: bool
) -> MakeAsk:
    return lambda venue: venue.some(
        ticket_type,
        quantity,
        block=block,
        accessible=min(accessible, quantity),
        together=together,
    )


def as_many(ticket_type: str, quantity: int, least: int) -> MakeAsk:
    return lambda venue: venue.some(ticket_type, quantity, at_least=min(least, quantity))


def named(names: list[str]) -> MakeAsk:
    return lambda venue: venue.these(*names)


asks = st.one_of(
    st.builds(admission, st.sampled_from(sorted(TICKET_TYPES)), st.integers(1, 6)),
    st.builds(
        best,
        st.sampled_from(sorted(HALL.seated)),
        st.integers(1, 5),
        st.sampled_from([None, None, *HALL.blocks]),
        st.sampled_from([0, 0, 0, 1]),
        st.sampled_from([False, False, True]),
    ),
    st.builds(named, seat_names),
    st.builds(
        as_many,
        st.sampled_from([*sorted(TICKET_TYPES), *sorted(HALL.seated)]),
        st.integers(1, 6),
        st.integers(1, 4),
    ),
)


class Wish:
    """A request that can be made for both venues."""

    def __init__(self, makers: list[MakeAsk], holder: Holder, wants_alternative: bool) -> None:
        self._makers = makers
        self._holder = holder
        self._wants_alternative = wants_alternative
        self.fingerprint = uuid4().bytes

    def place(self, venue: Venue, hold_id: HoldId, key: IdempotencyKey | None = None) -> PlaceHold:
        return venue.place(
            *_without_repeats([make(venue) for make in self._makers]),
            hold_id=hold_id,
            key=key,
            holder=self._holder,
            wants_alternative=self._wants_alternative,
        )

    def fill(
        self, venue: Venue, cart: str, hold_id: HoldId, key: IdempotencyKey | None = None
    ) -> FillCart:
        """An item id is its index in the cart, so another wish changes some items and keeps
        others."""
        asked = _without_repeats([make(venue) for make in self._makers])
        items = {f"item-{number}": ask for number, ask in enumerate(asked)}
        return venue.fill(cart, items, holder=self._holder, hold_id=hold_id, key=key)


def _without_repeats(asked: list[Ask | SeatAsk]) -> list[Ask | SeatAsk]:
    """Drop repeated seats: a hold can name a seat once."""
    seen: set[Any] = set()
    kept: list[Ask | SeatAsk] = []
    for each in asked:
        if isinstance(each, SeatAsk):
            if seen & set(each.seat_ids):
                continue
            seen |= set(each.seat_ids)
        kept.append(each)
    return kept


wishes = st.builds(
    Wish, st.lists(asks, min_size=1, max_size=3), st.sampled_from(PEOPLE), st.booleans()
)
