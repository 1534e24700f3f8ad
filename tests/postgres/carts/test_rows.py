"""Rows of cart holds: changed in place, one live hold per cart."""

from dataclasses import replace
from uuid import UUID, uuid4

import psycopg
import pytest
from django.core.management import call_command
from django.db import connections

from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.bootstrap.database import OWNER, setup_django
from holdfast.bootstrap.settings import Settings
from holdfast.domain.group.footprint import Needs
from holdfast.domain.holds.hold import CartItem, SeatWish
from holdfast.domain.ids import BlockId
from holdfast.ports.store import Rejected
from tests.contract.worlds import PostgresWorld
from tests.postgres.rounds import Rounds


def lines_of(rounds: Rounds, hold_id: UUID) -> list[tuple[int, int, int | None]]:
    """Number, and the versions that added and removed each line."""
    with psycopg.connect(rounds.world.url) as connection:
        return connection.execute(
            "SELECT position, added_version, removed_version FROM hold_line WHERE hold_id = %s"
            " ORDER BY position",
            [hold_id],
        ).fetchall()


def test_a_changed_hold_keeps_its_removed_lines_as_history(rounds: Rounds) -> None:
    with rounds.round() as first:
        hold = first.place(first.line(2), first.line(3), cart="mine")
        first.commit()
    with rounds.round(hold) as second:
        changed = second.change(hold, [hold.lines[1]], second.line(4))
        second.commit()
    assert lines_of(rounds, hold.id) == [
        (0, 1, 2),
        (1, 1, None),
        (changed.lines[1].number, 2, None),
    ]
    assert rounds.world.hold(rounds.venue, hold.id) == changed
    assert rounds.world.pool(rounds.venue.pools["floor"]).held == 7
    with psycopg.connect(rounds.world.url) as connection:
        sums = connection.execute(
            "SELECT quantity, total_minor FROM hold WHERE id = %s", [hold.id]
        ).fetchone()
    assert sums == (7, 7 * 4500)


def test_a_line_added_and_removed_in_one_group_is_kept_as_history(rounds: Rounds) -> None:
    with rounds.round() as only:
        hold = only.place(only.line(1), cart="mine")
        fuller = only.change(hold, hold.lines, only.line(5))
        emptier = only.change(fuller, hold.lines)
        only.commit()
    added = fuller.lines[1].number
    assert lines_of(rounds, hold.id) == [(0, 1, None), (added, 2, 3)]
    assert rounds.world.hold(rounds.venue, hold.id) == emptier


def test_the_cart_item_and_wish_of_a_line_are_read_back(rounds: Rounds) -> None:
    item = CartItem('item "7", {einsame}', uuid4())
    block_id = BlockId(uuid4())
    with rounds.round() as only:
        wish = SeatWish(None, 0, is_together=False)
        other = SeatWish(None, 2, is_together=True, unit_price_minor=0)
        hold = only.place(
            replace(only.line(1), item=item),
            replace(only.line(2), wish=wish),
            replace(only.line(2), item=item, wish=replace(other, block_id=block_id)),
            since=only.now,
        )
        only.commit()
    assert rounds.world.hold(rounds.venue, hold.id) == hold


def test_a_cart_can_release_and_hold_again_in_one_group(rounds: Rounds) -> None:
    """Twice, so that one of the holds begins and ends within the group."""
    with rounds.round() as before:
        first = before.place(cart="mine")
        before.commit()
    with rounds.round(first, carts=["mine"]) as within:
        within.release(first)
        second = within.place(cart="mine")
        within.release(second)
        third = within.place(cart="mine")
        within.commit()
    with rounds.round(carts=["mine", "of nobody"]) as after:
        assert after.ledger.carts == {
            rounds.cart("mine"): third.key,
            rounds.cart("of nobody"): None,
        }
    states = rounds.world.holds(rounds.venue)
    assert [states[hold.id].status for hold in (first, second, third)] == [
        "cancelled",
        "cancelled",
        "active",
    ]


def test_a_second_live_hold_of_a_cart_is_refused_by_the_table(rounds: Rounds) -> None:
    with rounds.round() as first:
        first.place(cart="mine")
        first.commit()
    with rounds.round() as second:
        second.place(cart="mine", since=second.now)
        with pytest.raises(Rejected):
            second.commit()
    with rounds.round() as control:
        control.place(cart="another")
        control.commit()


def test_the_survey_finds_the_newest_hold_of_a_cart_and_its_session(rounds: Rounds) -> None:
    with rounds.round() as first:
        ended = first.place(cart="mine")
        first.release(ended)
        first.commit()
    with rounds.round() as second:
        newest = second.place(cart="mine")
        second.commit()
    survey = rounds.connection.survey(Needs(carts=(rounds.cart("mine"),)))
    assert survey.carts == {rounds.cart("mine"): newest}
    assert set(survey.sessions) == {rounds.session_key}


def test_migrating_back_keeps_held_lines_and_cancels_waiting_holds(
    fresh_world: PostgresWorld,
) -> None:
    rounds = Rounds(fresh_world, fresh_world.venue({"floor": 100}, {"standing": ("floor",)}))
    with rounds.round() as only:
        hold = only.place(only.line(1), only.line(2), cart="mine")
        only.change(hold, hold.lines[1:], only.line(3))
        waiting = only.place(since=only.now)
        only.commit()
    rounds.connection.close()
    setup_django(Settings(database_url=fresh_world.url))
    try:
        call_command("migrate", "holdfast", "0004", database=OWNER, verbosity=0)
    finally:
        connections.close_all()
    with psycopg.connect(fresh_world.url) as owner:
        lines = owner.execute(
            "SELECT position, quantity FROM hold_line WHERE hold_id = %s ORDER BY 1", [hold.id]
        ).fetchall()
        states: dict[UUID, str] = dict(owner.execute("SELECT id, status FROM hold").fetchall())
    assert lines == [(0, 2), (1, 3)]
    assert states == {hold.id: "active", waiting.id: "cancelled"}


def test_readers_find_the_holds_of_a_cart(rounds: Rounds) -> None:
    with rounds.round() as only:
        ended = only.place(cart="mine")
        only.release(ended)
        cart_hold = only.place(cart="mine")
        # Placed without a cart, and only marked with its token.
        marked = only.place()
        only.commit()
    with psycopg.connect(rounds.world.url) as owner:
        owner.execute("UPDATE hold SET cart_token = 'mine' WHERE id = %s", [marked.id])
    database = Database(rounds.world.url)
    database.open()
    holds, organization_id = PostgresHolds(database), rounds.venue.organization_id
    seen = holds.cart_hold(organization_id, "mine")
    live = holds.live_holds_of_cart(organization_id, "mine")
    database.close()
    assert seen is not None
    assert seen.hold == cart_hold
    assert [hold.id for hold in live] == sorted([cart_hold.id, marked.id])
