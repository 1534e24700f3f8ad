"""Driven with the same commands, both stores give the same answers and end in the same state. A
Hypothesis state machine finds the commands."""

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    consumes,
    multiple,
    rule,
    run_state_machine_as_test,
)

from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import IdempotencyKey, Receipt
from holdfast.domain.ids import HoldId, OrderId, TicketId
from holdfast.domain.orders.order import Attendee
from holdfast.domain.values import Holder
from tests.contract.agreeing import Agreeing
from tests.contract.venues import Venue, a_purchase
from tests.contract.wishes import CARTS, PEOPLE, POLICIES, Wish, seat_names, wishes

holders = st.sampled_from([None, None, None, *PEOPLE])
carts = st.sampled_from(CARTS)
parts = st.lists(st.integers(0, 7), max_size=3)


class StoresAgree(Agreeing):
    holds: Bundle[HoldId] = Bundle("holds")
    taken: Bundle[HoldId] = Bundle("taken")  # one person's holds that were placed for certain
    keys: Bundle[tuple[UUID, Wish]] = Bundle("keys")
    cart_keys: Bundle[tuple[UUID, str, Wish]] = Bundle("cart_keys")
    any_hold = st.one_of(taken, taken, holds)

    @rule(target=holds, wish=wishes)
    def place(self, wish: Wish) -> HoldId:
        hold_id = self.new_id()
        self.both(lambda venue: [wish.place(venue, hold_id)])
        return hold_id

    @rule(target=taken, quantity=st.integers(1, 2))
    def take_something(self, quantity: int) -> "HoldId | MultipleResults[HoldId]":
        hold_id = self.new_id()
        ((outcome, *_),) = self.both(
            lambda venue: [venue.place(("guest", quantity), hold_id=hold_id, holder=PEOPLE[0])]
        )
        return hold_id if outcome == "placed" else multiple()

    @rule(target=holds, burst=st.lists(wishes, min_size=2, max_size=5))
    def place_several_at_once(self, burst: list[Wish]) -> HoldId:
        ids = [self.new_id() for _ in burst]
        self.both(
            lambda venue: [
                wish.place(venue, hold_id) for wish, hold_id in zip(burst, ids, strict=True)
            ]
        )
        return ids[-1]

    @rule(target=holds, names=seat_names, holder=st.sampled_from(PEOPLE))
    def pick_seats(self, names: list[str], holder: Holder) -> HoldId:
        hold_id = self.new_id()
        self.both(lambda venue: [venue.seats(*names, hold_id=hold_id, holder=holder)])
        return hold_id

    @rule(hold_id=holds, wish=wishes)
    def place_again_with_the_same_id(self, hold_id: HoldId, wish: Wish) -> None:
        self.both(lambda venue: [wish.place(venue, hold_id)])

    @rule(target=keys, wish=wishes)
    def place_with_a_key(self, wish: Wish) -> tuple[UUID, Wish]:
        digest, hold_id = uuid4(), self.new_id()
        self.both(lambda venue: [wish.place(venue, hold_id, _key(venue, digest, wish))])
        return digest, wish

    @rule(key=keys, other=wishes, is_same=st.booleans())
    def repeat_a_key(self, key: tuple[UUID, Wish], other: Wish, is_same: bool) -> None:
        digest, first = key
        wish, hold_id = first if is_same else other, self.new_id()
        self.both(lambda venue: [wish.place(venue, hold_id, _key(venue, digest, wish))] * 2)

    @rule(target=holds, cart=carts, wish=wishes)
    def fill_a_cart(self, cart: str, wish: Wish) -> HoldId:
        hold_id = self.new_id()
        self.both(lambda venue: [wish.fill(venue, cart, hold_id)] * 2)
        return hold_id

    @rule(target=holds, cart=carts, sizes=st.lists(st.integers(1, 6), min_size=1, max_size=3))
    def change_the_quantity_of_a_cart(self, cart: str, sizes: list[int]) -> HoldId:
        """One quantity after the other."""
        hold_id = self.new_id()
        self.both(
            lambda venue: [
                venue.fill(cart, {"item-0": ("guest", size)}, holder=PEOPLE[0], hold_id=hold_id)
                for size in sizes
            ]
        )
        return hold_id

    @rule(target=cart_keys, cart=carts, wish=wishes)
    def fill_a_cart_with_a_key(self, cart: str, wish: Wish) -> tuple[UUID, str, Wish]:
        digest, hold_id = uuid4(), self.new_id()
        self.both(lambda venue: [wish.fill(venue, cart, hold_id, _key(venue, digest, wish))])
        return digest, cart, wish

    @rule(key=cart_keys, other=wishes, is_same=st.booleans())
    def repeat_a_key_of_a_cart(
        self, key: tuple[UUID, str, Wish], other: Wish, is_same: bool
    ) -> None:
        digest, cart, first = key
        wish, hold_id = first if is_same else other, self.new_id()
        self.both(lambda venue: [wish.fill(venue, cart, hold_id, _key(venue, digest, wish))] * 2)

    @rule(cart=carts, holder=holders)
    def empty_a_cart(self, cart: str, holder: Holder | None) -> None:
        self.both(lambda venue: [venue.empty(cart, holder)] * 2)

    @rule(target=holds, cart=carts, holder=holders, steps=st.sampled_from([0, 7]))
    def renew_a_cart(self, cart: str, holder: Holder | None, steps: int) -> HoldId:
        hold_id = self.new_id()
        self.pass_time(steps)
        self.both(lambda venue: [venue.renew(cart, holder=holder, hold_id=hold_id)] * 2)
        return hold_id

    @rule(
        target=holds,
        kind=st.sampled_from(["guest", "adult", "child"]),
        sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4),
        is_reaped=st.booleans(),
    )
    def wait_until_somebody_lets_go(self, kind: str, sizes: list[int], is_reaped: bool) -> HoldId:
        owners = [self.new_id() for _ in range(2)]
        waiting = [self.new_id() for _ in sizes]
        for owner in owners:
            self._place_one(("guest", 6, 1), owner, PEOPLE[0])
        for number, (hold_id, size) in enumerate(zip(waiting, sizes, strict=True)):
            self._place_one((kind, size, None), hold_id, PEOPLE[1 + number % 2])
        if is_reaped:
            self.pass_time(7)
            self.both(lambda venue: [venue.expire(*owners)])
        else:
            self.both(lambda venue: [venue.release(owner) for owner in owners])
        return waiting[0]

    def _place_one(self, ask: tuple[str, int, int | None], hold_id: HoldId, holder: Holder) -> None:
        kind, size, least = ask
        self.both(
            lambda venue: [
                venue.place(venue.some(kind, size, at_least=least), hold_id=hold_id, holder=holder)
            ]
        )

    @rule()
    def promote(self) -> None:
        self.both(lambda venue: [venue.promote()])

    @rule(hold_id=holds)
    def explain_and_promote_by_hand(self, hold_id: HoldId) -> None:
        self.both(lambda venue: [venue.explain(), venue.promote_this(hold_id), venue.explain()])

    @rule(hold_id=holds)
    def release(self, hold_id: HoldId) -> None:
        self.both(lambda venue: [venue.release(hold_id)])

    @rule(hold_id=consumes(holds), wish=wishes)
    def release_and_place_at_once(self, hold_id: HoldId, wish: Wish) -> None:
        new_id = self.new_id()
        self.both(lambda venue: [venue.release(hold_id), wish.place(venue, new_id)])

    @rule(hold_id=any_hold, is_expired=st.booleans())
    def end_as_an_operator(self, hold_id: HoldId, is_expired: bool) -> None:
        self.both(lambda venue: [venue.release_as_operator(hold_id, is_expired=is_expired)] * 2)

    @rule(target=holds, old=seat_names, new=seat_names, others=seat_names, is_moved=st.booleans())
    def hold_seats_and_move(
        self, old: list[str], new: list[str], others: list[str], is_moved: bool
    ) -> HoldId:
        """Another buyer may want the same seats, before or after the move."""
        hold_id, other_id = self.new_id(), self.new_id()
        moves = dict(zip(old, new, strict=False))
        self.both(lambda venue: [venue.seats(*old, hold_id=hold_id, holder=PEOPLE[0])])

        def commands(venue: Venue) -> list[Command]:
            rival = venue.seats(*others, hold_id=other_id, holder=PEOPLE[1])
            both: list[Command] = [venue.move(hold_id, moves), rival]
            return both if is_moved else both[::-1]

        self.both(commands)
        return hold_id

    @rule(hold_ids=st.lists(holds, min_size=1, max_size=4))
    def expire(self, hold_ids: list[HoldId]) -> None:
        self.both(lambda venue: [venue.expire(*hold_ids)])

    @rule(
        hold_id=any_hold,
        seconds=st.sampled_from([1000, 2000, 6000]),
        holder=holders,
        is_operator=st.booleans(),
    )
    def extend(
        self, hold_id: HoldId, seconds: int, holder: Holder | None, is_operator: bool
    ) -> None:
        self.both(
            lambda venue: [venue.extend(hold_id, seconds, holder=holder, is_operator=is_operator)]
        )

    @rule(hold_ids=st.lists(any_hold, min_size=1, max_size=4))
    def warn(self, hold_ids: list[HoldId]) -> None:
        self.both(lambda venue: [venue.warn(*hold_ids)])

    @rule(hold_ids=st.lists(any_hold, min_size=1, max_size=3, unique=True), holder=holders)
    def check_out(self, hold_ids: list[HoldId], holder: Holder | None) -> None:
        self.both(lambda venue: [venue.check_out(*hold_ids, holder=holder)] * 2)

    @rule(
        hold_ids=st.lists(any_hold, min_size=1, max_size=3, unique=True),
        holder=holders,
        attendees=st.lists(st.sampled_from([None, Attendee("Ada")]), max_size=3),
        is_in_checkout=st.booleans(),
    )
    def convert(
        self,
        hold_ids: list[HoldId],
        holder: Holder | None,
        attendees: list[Attendee | None],
        is_in_checkout: bool,
    ) -> None:
        first, again = a_purchase(*attendees), a_purchase()

        def commands(venue: Venue) -> list[Command]:
            checkout_id = venue.check_out(*hold_ids).checkout_id if is_in_checkout else None
            return [
                venue.convert(*hold_ids, holder=holder, purchase=purchase, checkout_id=checkout_id)
                for purchase in (first, again)
            ]

        self.both(commands)

    @rule(target=holds, wish=wishes, other=wishes, is_reaped=st.booleans())
    def pay_late(self, wish: Wish, other: Wish, is_reaped: bool) -> HoldId:
        """The places may be taken by then."""
        late, next_id, purchase = self.new_id(), self.new_id(), a_purchase()
        self.both(lambda venue: [wish.place(venue, late)])
        self.pass_time(7)
        self.both(lambda venue: [other.place(venue, next_id)])
        if is_reaped:
            self.both(lambda venue: [venue.expire(late)])
        self.both(lambda venue: [venue.convert(late, purchase=purchase)] * 2)
        return next_id

    @rule(hold_id=any_hold, wish=wishes)
    def convert_by_a_message_that_comes_twice(self, hold_id: HoldId, wish: Wish) -> None:
        event_id, purchase, new_id = uuid4(), a_purchase(), self.new_id()

        def commands(venue: Venue) -> list[Command]:
            receipt = Receipt("orders", event_id)
            key = IdempotencyKey(venue.organization_id, event_id, b"", receipt)
            paid = venue.convert(hold_id, purchase=purchase, key=key)
            return [paid, wish.place(venue, new_id), paid]

        self.both(commands)

    @rule(number=st.integers(0, 9), parts=parts)
    def cancel_an_order(self, number: int, parts: list[int]) -> None:
        self._cancel(number, parts)

    @rule(
        target=holds,
        kind=st.sampled_from(["guest", "adult", "child"]),
        sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
        parts=parts,
        wish=wishes,
    )
    def wait_until_an_order_is_cancelled(
        self, kind: str, sizes: list[int], parts: list[int], wish: Wish
    ) -> HoldId:
        owner, newcomer = self.new_id(), self.new_id()
        self._place_one(("guest", 8, 1), owner, PEOPLE[0])
        purchase = a_purchase()
        self.both(lambda venue: [venue.convert(owner, purchase=purchase)])
        for number, size in enumerate(sizes):
            self._place_one((kind, size, None), self.new_id(), PEOPLE[1 + number % 2])
        self._cancel(-1, parts, lambda venue: [wish.place(venue, newcomer)])
        return newcomer

    def _cancel(
        self,
        number: int,
        parts: list[int],
        after: Callable[[Venue], list[Command]] = lambda _: [],
    ) -> None:
        """Cancel twice: the second time, it is too late."""
        found = self._order_and_tickets(number, parts)
        if found is not None:
            order_id, tickets = found
            self.both(lambda venue: [venue.cancel(order_id, *tickets), *after(venue)] * 2)

    @rule(number=st.integers(0, 9), parts=parts)
    def cancel_and_record_refunds(self, number: int, parts: list[int]) -> None:
        """Of these tickets, of one of them, and of all that are left."""
        found = self._order_and_tickets(number, parts)
        if found is not None:
            order_id, tickets = found
            self.both(
                lambda venue: [
                    venue.refund(order_id, *tickets, reference="re_1"),
                    venue.cancel(order_id, *tickets),
                    venue.refund(order_id, *tickets[:1], reference="re_2"),
                    venue.refund(order_id, reference="re_3"),
                ]
            )

    def _order_and_tickets(
        self, number: int, parts: list[int]
    ) -> tuple[OrderId, tuple[TicketId, ...]] | None:
        orders = sorted(self.sides[0].orders().items(), key=lambda each: each[1].hold_ids)
        if not orders:
            return None
        order_id, order = orders[number % len(orders)]
        named = (order.tickets[part % len(order.tickets)].id for part in parts)
        return order_id, tuple(dict.fromkeys(named))

    @rule(names=seat_names, is_lifted=st.booleans())
    def block_or_unblock(self, names: list[str], is_lifted: bool) -> None:
        self.both(lambda venue: [venue.unblock(*names) if is_lifted else venue.block(*names)])

    @rule(names=seat_names, wish=wishes)
    def block_and_place_and_unblock_at_once(self, names: list[str], wish: Wish) -> None:
        ids = [self.new_id() for _ in range(2)]
        self.both(
            lambda venue: [
                venue.block(*names),
                wish.place(venue, ids[0]),
                venue.unblock(*names),
                wish.place(venue, ids[1]),
            ]
        )

    @rule(steps=st.integers(1, 4))
    def let_time_pass(self, steps: int) -> None:
        self.pass_time(steps)

    @rule()
    def let_time_pass_until_somebody_is_warned(self) -> None:
        self.pass_time(6)


def _key(venue: Venue, digest: UUID, wish: Wish) -> IdempotencyKey:
    return IdempotencyKey(venue.organization_id, digest, wish.fingerprint)


@pytest.mark.timeout(1800)  # shrinking a failure takes minutes
@pytest.mark.parametrize("examples", [4, pytest.param(40, marks=pytest.mark.long)])
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_memory_and_postgresql_give_the_same_answers(
    fresh_database_url: str, policy: str, examples: int
) -> None:
    StoresAgree.database_url = fresh_database_url
    StoresAgree.policy = POLICIES[policy]
    run_state_machine_as_test(
        StoresAgree,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
