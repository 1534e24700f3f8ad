"""The integrity check accepts a sound database, and detects every kind of damage."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from holdfast.adapters.postgres.audit.book_check import BookCheck
from holdfast.adapters.postgres.audit.checks import BOOK_CHECKS
from holdfast.adapters.postgres.audit.integrity import PostgresBooks, run_check
from holdfast.domain.group.outcomes import AwaitsInventory, CheckoutStarted, Converted
from holdfast.domain.holds.settle_hold import SettleHold
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusals import service_unavailable
from holdfast.engine import Admission
from holdfast.ports.store import StoreUnavailable
from tests.contract.asking import ask, cancelled, converted, placed
from tests.contract.venues import ORIGIN, STRANGER, Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.postgres.rounds import Rounds
from tests.support.auditing import assert_sound
from tests.support.catalog_life import change_catalog
from tests.support.databases import DatabaseFactory
from tests.support.patience import PATIENT

GRACE_SECONDS = 60


@pytest.fixture(scope="module")
def lively_url(databases: DatabaseFactory) -> Iterator[str]:
    """Holds of every status: live, cancelled, expired, paid, paid late, changed, waiting, promoted,
    pending and failed; seats held, sold, blocked, and sold again; a checkout, orders, tickets, and
    some that were cancelled; a changed catalog."""
    world = PostgresWorld(databases.fresh())
    engine = Admission(world.store, PATIENT)
    engine.start()
    hall = Hall({"Stalls": {"A": 9}}, {"seat": ()}, {"Stalls": 8})
    policy = HoldPolicy(late_payment_seconds=3_600)
    venue = world.build(Plan({"floor": 20}, {"standing": ("floor",)}, policy, hall=hall))
    lapsed = placed(engine, venue.seats("Stalls A 1"))
    late = placed(engine, venue.place(("standing", 1)))
    world.let_pass(venue, 601)
    ask(engine, venue.expire(lapsed.id))
    assert isinstance(ask(engine, venue.convert(late.id)), Converted)
    ask(engine, venue.release(placed(engine, venue.place(("seat", 2))).id))
    paid = [placed(engine, venue.seats("Stalls A 9")), placed(engine, venue.place(("standing", 2)))]
    hold_ids = [hold.id for hold in paid]
    check_out = venue.check_out(*hold_ids)
    assert isinstance(ask(engine, check_out), CheckoutStarted)
    pay = venue.convert(*hold_ids, checkout_id=check_out.checkout_id)
    assert isinstance(ask(engine, pay), Converted)
    ask(engine, venue.block("Stalls A 8", "Stalls A 9"))
    ask(engine, venue.unblock("Stalls A 8"))
    placed(engine, venue.place(venue.these("Stalls A 1", "Stalls A 2"), ("standing", 2)))
    placed(engine, venue.place(("seat", 1), holder=STRANGER))
    _cancel(engine, venue)
    _ask_elsewhere(engine, venue)
    _change_and_wait(Rounds(world, venue))
    change_catalog(world.url, venue.organization_id)
    yield world.url
    engine.stop()
    world.close()


def _ask_elsewhere(engine: Admission, venue: Venue) -> None:
    """A pending and a failed hold, of tickets that another service counts."""
    for is_settled in (False, True):
        outcome = ask(engine, replace(venue.place(("standing", 1)), is_remote=True))
        assert isinstance(outcome, AwaitsInventory)
        if is_settled:
            hold = outcome.hold
            ask(engine, SettleHold(hold.organization_id, hold.id, ORIGIN, service_unavailable()))


def _cancel(engine: Admission, venue: Venue) -> None:
    """A whole order, and one ticket of another; a seat is sold again, and another is blocked."""
    for names in (("Stalls A 6", "Stalls A 7"), ("Stalls A 6",)):
        hold = placed(engine, venue.place(venue.these(*names), ("standing", 1)))
        order = converted(engine, venue.convert(hold.id)).order
        if len(names) == 2:
            ask(engine, venue.block("Stalls A 7"))
            cancelled(engine, venue.cancel(order.id))
    cancelled(engine, venue.cancel(order.id, order.tickets[1].id))


def _change_and_wait(rounds: Rounds) -> None:
    with rounds.round() as first:
        hold = first.place(first.line(1), first.line(1), cart="changed")
        waiting = [first.place(since=first.now) for _ in range(3)]
        first.place(first.line(2), cart="waiting", since=first.now)
        first.commit()
    with rounds.round(hold, *waiting[:2]) as second:
        second.change(hold, hold.lines[:1], second.line(2))
        second.promote(waiting[0])
        second.release(waiting[1])
        second.commit()
    rounds.connection.close()


def test_a_sound_database_has_no_findings(lively_url: str) -> None:
    assert_sound(lively_url, GRACE_SECONDS)
    checks = list(PostgresBooks(lively_url).checked(GRACE_SECONDS))
    assert len(checks) == len(BOOK_CHECKS)
    assert all(check.rows > 0 for check in checks)


def test_an_unavailable_database_raises_store_unavailable() -> None:
    nobody = "postgresql://holdfast@127.0.0.1:1/nothing"
    with pytest.raises(StoreUnavailable):
        list(PostgresBooks(nobody).checked(GRACE_SECONDS))


FREE = "(SELECT id FROM seat WHERE status = 'available' LIMIT 1)"
HELD = "(SELECT id FROM seat WHERE status = 'held' LIMIT 1)"
SOLD = "(SELECT seat_id FROM ticket WHERE seat_id IS NOT NULL AND voided_at IS NULL LIMIT 1)"
WAITING = "(SELECT id FROM hold WHERE status = 'waiting' LIMIT 1)"
# Not even the owner may change the audit while its trigger is enabled.
UNGUARDED = "ALTER TABLE audit DISABLE TRIGGER audit_is_append_only; "
DAMAGES = {
    "an active or waiting hold long past its expiry": (
        (
            "UPDATE hold SET created_at = created_at - interval '1 day', warn_at = NULL,"
            " expires_at = expires_at - interval '1 day', due_at = expires_at - interval '1 day'"
            " WHERE status = 'active'"
        ),
    ),
    "a pool whose counters differ from its holds": (
        "UPDATE pool SET held = held + 1",
        "UPDATE pool SET sold = sold + 1",
        "UPDATE hold_line SET pool_ids = ARRAY[gen_random_uuid()] WHERE seat_id IS NULL",
        "UPDATE ticket SET voided_at = NULL, voided_version = NULL WHERE seat_id IS NULL",
        (
            "UPDATE ticket SET voided_at = now(), voided_version = 2"
            " WHERE voided_at IS NULL AND seat_id IS NULL"
        ),
    ),
    "a pool whose expiry counters differ from its holds": (
        "UPDATE pool_lapse SET units = units + 1",
        "UPDATE pool_lapse SET lapses_at = lapses_at + interval '1h'",
        "DELETE FROM pool_lapse",
    ),
    "a hold whose quantity or total differs from its lines": (
        "UPDATE hold SET quantity = quantity + 1 WHERE status = 'cancelled'",
        "UPDATE hold SET total_minor = total_minor + 1",
    ),
    "a hold or line whose session, hold or ticket type is missing": (
        "UPDATE hold SET session_id = gen_random_uuid() WHERE status = 'cancelled'",
        "UPDATE hold_line SET ticket_type_id = gen_random_uuid() WHERE removed_version IS NOT NULL",
        "UPDATE hold_line SET hold_id = gen_random_uuid() WHERE removed_version IS NOT NULL",
    ),
    "a hold with a wrong due_at, or with a warning due though it is not active": (
        "UPDATE hold SET warn_at = created_at, due_at = created_at WHERE status = 'converted'",
    ),
    "a line with a seat and a quantity other than 1": (
        "UPDATE hold_line SET quantity = 2 WHERE seat_id IS NOT NULL",
    ),
    "a seat of an active hold that is not held by it until its expiry": (
        (
            "UPDATE seat SET status = 'available', hold_id = NULL, held_until = NULL"
            f" WHERE id = {HELD}"
        ),
        f"UPDATE seat SET held_until = held_until + interval '1h' WHERE id = {HELD}",
        f"UPDATE seat SET hold_id = gen_random_uuid() WHERE id = {HELD}",
    ),
    "a held seat without a line in an active hold": (
        (
            "UPDATE seat SET status = 'held', hold_id = gen_random_uuid(), held_until = now(),"
            " holder_key = gen_random_uuid(), locked_at = now() WHERE status = 'available'"
        ),
        (f"UPDATE hold_line SET seat_id = {FREE} WHERE seat_id = {HELD}"),
    ),
    "a seat in two active or paid holds": (
        (f"UPDATE hold_line SET seat_id = {SOLD} WHERE seat_id = {HELD}"),
        (
            "DROP INDEX ticket_of_seat; UPDATE ticket SET voided_at = NULL, voided_version = NULL"
            " WHERE seat_id IS NOT NULL AND voided_at IS NOT NULL"
        ),
    ),
    "a held seat with a ticket": (f"UPDATE ticket SET seat_id = {HELD} WHERE seat_id = {SOLD}",),
    "a sold seat without a ticket, or a ticket for a seat that is not sold": (
        (
            "UPDATE seat SET status = 'available', hold_id = NULL, blocked_reason = NULL"
            " WHERE status = 'blocked'"
        ),
        "UPDATE seat SET hold_id = gen_random_uuid() WHERE status = 'blocked'",
        "DELETE FROM ticket WHERE seat_id IS NOT NULL",
        f"UPDATE ticket SET voided_at = now(), voided_version = 9 WHERE seat_id = {SOLD}",
    ),
    "a block with more taken seats than its capacity": (
        "UPDATE pool SET total = held + sold - 1, held = held - 1 WHERE name = 'Stalls capacity'",
    ),
    "a paid hold without an order, or an unpaid hold with one": (
        "DELETE FROM purchase_order",
        "UPDATE hold SET order_id = gen_random_uuid() WHERE status = 'converted'",
        (
            "UPDATE hold SET order_id = (SELECT id FROM purchase_order LIMIT 1)"
            " WHERE status = 'active'"
        ),
        "UPDATE purchase_order SET hold_ids = hold_ids[1:1] WHERE checkout_id IS NOT NULL",
    ),
    "an order with a hold that was not converted to it": (
        "UPDATE purchase_order SET hold_ids = hold_ids || gen_random_uuid()",
        "UPDATE hold SET status = 'expired', order_id = NULL WHERE status = 'converted'",
    ),
    "tickets that differ from the lines of a paid hold": (
        "UPDATE ticket SET order_id = gen_random_uuid()",
        "DELETE FROM ticket WHERE position = 0",
        "UPDATE ticket SET hold_id = (SELECT id FROM hold WHERE status = 'cancelled' LIMIT 1)",
        "UPDATE ticket SET unit_price_minor = unit_price_minor + 1",
    ),
    "an order whose total differs from its tickets": (
        "UPDATE purchase_order SET total_minor = total_minor + 1",
    ),
    "a replacement hold without its expired hold": (
        "UPDATE hold SET status = 'cancelled' WHERE id IN (SELECT revives FROM hold)",
        "UPDATE hold SET revives = gen_random_uuid() WHERE revives IS NOT NULL",
        "UPDATE hold SET quantity = quantity + 1 WHERE revives IS NOT NULL",
    ),
    "a hold that is not in its checkout": (
        "UPDATE checkout SET hold_ids = hold_ids[1:1]",
        "UPDATE hold SET checkout_id = gen_random_uuid() WHERE checkout_id IS NOT NULL",
    ),
    "a hold without exactly one audit row per version": (
        f"{UNGUARDED} DELETE FROM audit WHERE action = 'hold.created'",
        (
            f"{UNGUARDED} UPDATE audit SET new = jsonb_set(new, '{{version}}', '1')"
            " WHERE action = 'hold.expired'"
        ),
        "UPDATE hold SET version = version + 1",
    ),
    "a hold without exactly one fact per version": (
        "DELETE FROM outbox WHERE type = 'hold.created'",
        "DELETE FROM outbox WHERE type = 'hold.converted'",
        "UPDATE outbox SET type = 'hold.changed' WHERE type = 'hold.extended'",
        f"{UNGUARDED} DELETE FROM audit WHERE action = 'hold.cancelled'",
    ),
    "facts of a hold or of the catalog that are not in the order of its versions": (
        "UPDATE outbox SET xid = '1' WHERE type = 'hold.converted'",
        "UPDATE outbox SET xid = '1' WHERE type = 'event.changed'",
    ),
    "missing or unexpected facts of a seat in a hold": (
        "DELETE FROM outbox WHERE type = 'seat.held'",
        "DELETE FROM outbox WHERE type = 'seat.released'",
        "UPDATE outbox SET type = 'seat.released' WHERE type = 'seat.sold'",
        (
            "DELETE FROM outbox WHERE type = 'seat.released'"
            " AND payload ->> 'reason' = 'order_cancelled'"
        ),
        (
            "UPDATE outbox SET version = version + 1 WHERE type = 'seat.released'"
            " AND payload ->> 'reason' = 'order_cancelled'"
        ),
    ),
    "a seat whose blocked status disagrees with the audit": (
        "UPDATE seat SET status = 'blocked', blocked_reason = 'broken' WHERE status = 'available'",
        f"{UNGUARDED} DELETE FROM audit WHERE action = 'seat.unblocked'",
    ),
    "a blocked or unblocked seat or a changed catalog without its fact": (
        "DELETE FROM outbox WHERE type = 'seat.blocked'",
        f"{UNGUARDED} DELETE FROM audit WHERE action = 'seat.unblocked'",
        "DELETE FROM outbox WHERE type = 'ticket_type.changed'",
        "UPDATE outbox SET version = 9 WHERE type = 'pool.created'",
        f"{UNGUARDED} DELETE FROM audit WHERE action = 'seats.imported'",
    ),
    "an order without exactly one fact": ("DELETE FROM outbox WHERE type = 'order.confirmed'",),
    "an order whose status or version disagrees with its tickets": (
        "UPDATE purchase_order SET status = 'cancelled' WHERE status = 'confirmed'",
        "UPDATE purchase_order SET status = 'partly_cancelled' WHERE status = 'cancelled'",
        "UPDATE purchase_order SET status = 'confirmed' WHERE status = 'partly_cancelled'",
        "UPDATE purchase_order SET version = version + 1",
        "UPDATE ticket SET voided_version = voided_version + 1 WHERE voided_at IS NOT NULL",
    ),
    "a cancellation without its fact or its audit entry": (
        "DELETE FROM outbox WHERE type = 'order.cancelled'",
        f"{UNGUARDED} DELETE FROM audit WHERE action = 'order.cancelled'",
        "UPDATE ticket SET voided_at = NULL, voided_version = NULL WHERE seat_id IS NULL",
    ),
    "a void ticket without exactly one fact": (
        "DELETE FROM outbox WHERE type = 'ticket.voided'",
        "UPDATE outbox SET ticket_id = gen_random_uuid() WHERE type = 'ticket.voided'",
        "UPDATE outbox SET version = version + 1 WHERE type = 'ticket.voided'",
    ),
    "a waiting hold without a place on the waitlist, or a place without its hold": (
        f"DELETE FROM waiting_place WHERE hold_id = {WAITING}",
        "UPDATE waiting_place SET session_id = gen_random_uuid()",
        (
            "INSERT INTO waiting_place SELECT organization_id, id, session_id, gen_random_uuid(),"
            " now(), 0 FROM hold WHERE status = 'active'"
        ),
    ),
    "a waitlist queue with a wrong count of its parties": (
        "UPDATE waiting_line SET waiting = waiting + 1",
        "DELETE FROM waiting_line",
        f"UPDATE waiting_place SET line_id = gen_random_uuid() WHERE hold_id = {WAITING}",
        (
            "INSERT INTO waiting_line SELECT organization_id, session_id, gen_random_uuid(),"
            " wants, 1, 0, 0, now() FROM waiting_line"
        ),
    ),
    "a waiting hold with a seat": (
        f"UPDATE hold_line SET seat_id = {FREE} WHERE hold_id = {WAITING}",
    ),
    "an active or paid hold with a line that waits for seats": (
        "UPDATE hold_line SET wish_accessible = 0, wish_is_together = true WHERE seat_id IS NULL",
    ),
    "a cart with two live holds": (
        (
            "DROP INDEX hold_of_cart; UPDATE hold SET is_cart = true, cart_token = 'one'"
            " WHERE status IN ('waiting', 'active')"
        ),
    ),
    "a pending hold without a task of the reconciler, or not settled": (
        "DELETE FROM inventory_task",
        "UPDATE hold SET created_at = created_at - interval '2 minutes' WHERE status = 'pending'",
    ),
    "a task of the reconciler for a hold of local tickets": (
        (
            "UPDATE inventory_task SET hold_id = (SELECT id FROM hold WHERE order_id IS NOT NULL"
            " LIMIT 1) WHERE hold_id = (SELECT id FROM hold WHERE status = 'failed')"
        ),
    ),
    "an active or paid hold without held_at, or one that never had its tickets with it": (
        "UPDATE hold SET held_at = now() WHERE status = 'waiting'",
        "UPDATE hold SET held_at = now() WHERE status = 'pending'",
        "UPDATE hold SET held_at = now() WHERE status = 'failed'",
        "UPDATE hold SET held_at = NULL WHERE status = 'converted'",
    ),
    "a line of a version that its hold never had": (
        "UPDATE hold_line SET added_version = 99 WHERE removed_version IS NULL",
        "UPDATE hold_line SET removed_version = 99",
    ),
    "a session without a waitlist": ("DELETE FROM waitlist",),
    "a cursor from the future": (
        "UPDATE outbox SET xid = '999999999'",
        "INSERT INTO relay_cursor (partition, xid, seq) VALUES (0, '999999999', 1)",
        "UPDATE fact_horizon SET xid = '999999999'",
        "UPDATE hold SET changed_xid = '999999999'",
        "UPDATE seat SET changed_xid = '999999999'",
        "UPDATE seat SET told_xid = '999999999'",
    ),
}
# PostgreSQL itself refuses this damage.
IMPOSSIBLE = {"an oversold pool"}
BY_NAME = {check.looks_for: check for check in BOOK_CHECKS}


def test_every_check_has_a_damage_that_it_detects() -> None:
    assert set(BY_NAME) == set(DAMAGES) | IMPOSSIBLE


@pytest.mark.parametrize(
    ("looks_for", "damage"),
    [(looks_for, damage) for looks_for, damages in DAMAGES.items() for damage in damages],
)
def test_damage_is_detected(lively_url: str, looks_for: str, damage: str) -> None:
    assert _found_after(lively_url, BY_NAME[looks_for], damage) > 0


OLD_FACTS = (
    f"{UNGUARDED} UPDATE audit SET at = at - interval '2 days';"
    " UPDATE purchase_order SET created_at = created_at - interval '2 days';"
    " UPDATE ticket SET voided_at = voided_at - interval '2 days';"
    " UPDATE hold SET created_at = created_at - interval '2 days',"
    " held_at = held_at - interval '2 days',"
    " updated_at = updated_at - interval '2 days';"
)


@pytest.mark.parametrize(
    "looks_for",
    [
        "a hold without exactly one fact per version",
        "missing or unexpected facts of a seat in a hold",
        "a blocked or unblocked seat or a changed catalog without its fact",
        "an order without exactly one fact",
        "a cancellation without its fact or its audit entry",
        "a void ticket without exactly one fact",
    ],
)
def test_only_facts_the_pruner_could_have_deleted_may_be_missing(
    lively_url: str, looks_for: str
) -> None:
    check = BY_NAME[looks_for]
    pruned = "UPDATE fact_horizon SET xid = pg_current_xact_id();"
    assert _found_after(lively_url, check, f"{OLD_FACTS} {pruned} DELETE FROM outbox") == 0
    assert _found_after(lively_url, check, f"{OLD_FACTS} DELETE FROM outbox") > 0
    assert _found_after(lively_url, check, f"{pruned} DELETE FROM outbox") > 0


def _found_after(url: str, check: BookCheck, damage: str) -> int:
    with psycopg.connect(url) as connection, connection.transaction(force_rollback=True):
        changed: psycopg.Cursor[Any] = connection.execute(damage.encode())
        while changed.nextset():
            pass
        assert changed.rowcount > 0
        return run_check(connection, check, 0, GRACE_SECONDS).found
