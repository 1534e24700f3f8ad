"""What a cart costs of its buyer's seats, also while others change it."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import httpx
import pytest

from holdfast.domain.access.rates import Rate, RateLimits
from holdfast.domain.carts.empty_cart import EmptyCart
from holdfast.domain.group.origin import Origin
from holdfast.services.access.rates.limiter import RateLimiter
from tests.api.world import BALCONY, FLOOR, ORGANIZATION, SESSION, World
from tests.support.memory.store import MemoryStore


@pytest.fixture
def limited() -> Iterator[World]:
    world = World()
    world.rate_book.of = {ORGANIZATION: RateLimits(seats_per_holder=Rate(10, 300))}
    yield world
    world.close()


def cart_body(*quantities: int, kind: Any = FLOOR) -> dict[str, Any]:
    items = [
        {"cart_item_id": str(number), "ticket_type_id": str(kind), "quantity": quantity}
        for number, quantity in enumerate(quantities)
        if quantity
    ]
    return {"session_id": str(SESSION), "customer_email": "ann@example.com", "items": items}


def fill(world: World, *quantities: int, kind: Any = FLOOR) -> httpx.Response:
    return world.call("PUT", "/api/carts/a/hold", json=cart_body(*quantities, kind=kind))


def left(answer: httpx.Response) -> str:
    return str(answer.headers["RateLimit"]).split(";")[1]


def after_the_next_read(patch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Change the cart when the gate has read it, and before the engine decides."""
    read = MemoryStore.cart_hold

    def read_then_change(store: MemoryStore, *about: Any) -> object:
        seen = read(store, *about)
        patch.undo()
        change()
        return seen

    patch.setattr(MemoryStore, "cart_hold", read_then_change)


def end_hold(world: World) -> object:
    origin = Origin("key:other", "request-other")
    return world.engine.submit(EmptyCart(ORGANIZATION, "a", origin)).result(10)


def test_a_cart_whose_hold_ends_meanwhile_counts_all_of_its_new_hold(
    limited: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert left(fill(limited, 8)) == "r=2"
    after_the_next_read(monkeypatch, lambda: end_hold(limited))
    raced = fill(limited, 8)
    assert (raced.status_code, left(raced)) == (201, "r=0")
    # 16 are taken of 10: the next one is refused, whatever it is.
    assert limited.place(quantity=1, customer_email="ann@example.com").status_code == 429
    assert limited.place(quantity=1, customer_email="bob@example.com").status_code == 201


async def hang_up_while_charged(world: World, patch: pytest.MonkeyPatch) -> None:
    """Fill the cart, and hang up when the engine has decided and the rest is being charged."""
    charge, is_charging, may_go_on = RateLimiter.charge, asyncio.Event(), asyncio.Event()

    async def slow(limiter: RateLimiter, *about: Any) -> object:
        is_charging.set()
        await may_go_on.wait()
        charged = await charge(limiter, *about)
        may_go_on.clear()
        return charged

    patch.setattr(RateLimiter, "charge", slow)
    transport = httpx.ASGITransport(app=world.api)
    headers = {"Authorization": f"Bearer {world.secret}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
        request = client.put("/api/carts/a/hold", json=cart_body(8), headers=headers)
        asked = asyncio.create_task(request)
        await is_charging.wait()
        asked.cancel()
        may_go_on.set()
        await asyncio.wait([asked])
        async with asyncio.timeout(0.5):
            while may_go_on.is_set():
                await asyncio.sleep(0)


@pytest.mark.parametrize("is_shielded", [True, False])
def test_a_client_that_hangs_up_is_charged_nevertheless(
    limited: World, monkeypatch: pytest.MonkeyPatch, is_shielded: bool
) -> None:
    """Control: without the shield nothing is charged."""
    assert left(fill(limited, 8)) == "r=2"
    if not is_shielded:
        monkeypatch.setattr(asyncio, "shield", lambda task: task)
    with monkeypatch.context() as patch:
        after_the_next_read(patch, lambda: end_hold(limited))
        with nullcontext() if is_shielded else pytest.raises(TimeoutError):
            asyncio.run(hang_up_while_charged(limited, monkeypatch))
    again = limited.place(quantity=1, customer_email="ann@example.com")
    assert again.status_code == (429 if is_shielded else 201)


def test_tickets_that_move_to_another_item_cost_nothing(limited: World) -> None:
    assert left(fill(limited, 8)) == "r=2"
    moved = fill(limited, 0, 8)
    assert (moved.status_code, left(moved)) == (200, "r=2")


def test_another_ticket_type_counts_although_the_cart_does_not_grow(limited: World) -> None:
    assert left(fill(limited, 1, kind=BALCONY)) == "r=9"
    assert left(fill(limited, 1)) == "r=8"
