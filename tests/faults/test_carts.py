"""The connection to PostgreSQL breaks while a cart changes or a freed place is given to the
waitlist: the engine resolves the commit, and the effect happens once."""

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.domain.group.outcomes import CartChanged, Released
from tests.contract.asking import placed
from tests.faults.arena import BOUND_SECONDS, Arena
from tests.faults.proxy import Fault, Proxy
from tests.faults.resale import Resale
from tests.race.lines import fill, live_holds_of, promoter_of, run_to_the_end, sold_out
from tests.support.auditing import assert_sound

AROUND_COMMIT = [Fault.CUT_BEFORE_COMMIT, Fault.CUT_IN_COMMIT, Fault.SWALLOW_ANSWER]


@pytest.fixture
def far(fresh_database_url: str) -> Iterator[tuple[Arena, Proxy]]:
    """An engine behind a faulty proxy."""
    proxy = Proxy(fresh_database_url)
    arena = Arena(fresh_database_url, proxy.url)
    yield arena, proxy
    proxy.close()
    arena.close()


@pytest.mark.parametrize("fault", AROUND_COMMIT)
@pytest.mark.parametrize("quantity", [1, 5])
def test_a_cart_change_cut_around_commit_is_resolved(
    far: tuple[Arena, Proxy], fault: Fault, quantity: int
) -> None:
    """The change has no key and is not repeated."""
    arena, proxy = far
    hold = placed(arena.engine, fill(arena.venue, "mine", ("standing", 2)))
    proxy.fault_next(fault)
    change = fill(arena.venue, "mine", ("standing", quantity))
    outcome = arena.engine.submit(change).result(BOUND_SECONDS).outcome
    assert proxy.faulted.is_set()
    assert isinstance(outcome, CartChanged), outcome
    # Retried after a rollback, or found already done after a commit.
    assert (outcome.hold.id, outcome.hold.quantity) == (hold.id, quantity)
    assert live_holds_of(arena.world, arena.venue, "mine") == [outcome.hold]
    facts = [fact[:3] for fact in arena.world.facts(arena.venue)]
    assert facts == [("hold.created", hold.id, 1), ("hold.changed", hold.id, 2)]
    assert arena.world.pool(arena.venue.pools["floor"]).held == quantity
    assert_sound(arena.url)


@pytest.mark.parametrize("fault", AROUND_COMMIT)
def test_a_promotion_cut_around_commit_happens_once(far: tuple[Arena, Proxy], fault: Fault) -> None:
    arena, proxy = far
    sale = sold_out(arena.world, arena.engine, 1)
    first, second = sale.join(), sale.join()
    proxy.fault_next(fault)
    release = sale.venue.release(sale.holds[0].id)
    outcome = arena.engine.submit(release).result(BOUND_SECONDS).outcome
    assert proxy.faulted.is_set()
    assert isinstance(outcome, Released), outcome
    assert sale.status(sale.holds[0], first, second) == ["cancelled", "active", "waiting"]
    promoted = [
        fact.hold_id for fact in arena.world.facts(sale.venue) if fact.type == "hold.promoted"
    ]
    assert promoted == [first.id]
    assert_sound(arena.url)


@pytest.mark.parametrize("fault", AROUND_COMMIT)
def test_a_cancelled_order_cut_around_commit_promotes_one_party(
    far: tuple[Arena, Proxy], fault: Fault
) -> None:
    """While parties join, while holds are paid for, and while their orders are cancelled."""
    arena, proxy = far
    resale = Resale(arena)
    resale.begin_trades()
    for _ in range(3):
        proxy.fault_next(fault)
        arena.take_steps(arena.next_steps())
        assert proxy.faulted.is_set()
    arena.finish_trades()
    resale.assert_one_party_for_each_order()
    assert_sound(arena.url)


@pytest.mark.parametrize("fault", AROUND_COMMIT)
def test_a_promoter_cut_around_commit_is_resolved(far: tuple[Arena, Proxy], fault: Fault) -> None:
    arena, proxy = far
    sale = sold_out(arena.world, arena.engine, 1)
    waiters = [sale.join() for _ in range(5)]
    with psycopg.connect(arena.url) as owner:
        owner.execute("UPDATE pool SET total = 6 WHERE session_id = %s", [sale.venue.session_id])
        owner.execute(
            "UPDATE waitlist SET is_settled = false WHERE session_id = %s", [sale.venue.session_id]
        )
    proxy.fault_next(fault)
    with promoter_of(arena.world, arena.engine) as promoter:
        run_to_the_end(promoter)
    assert proxy.faulted.is_set()
    promoted = [
        fact.hold_id for fact in arena.world.facts(sale.venue) if fact.type == "hold.promoted"
    ]
    assert promoted == [hold.id for hold in waiters]
    assert_sound(arena.url)
