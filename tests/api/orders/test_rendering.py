"""Potentially large answers are rendered on a thread, to keep the event loop free."""

import threading
from collections.abc import Callable, Iterator

import pytest

from holdfast.domain.ids import EventId, OrganizationId
from holdfast.entrypoints.api import app, lookups
from holdfast.entrypoints.api.http import replies
from holdfast.ports.seats import EventOccupancy
from holdfast.services.fair_threads import Shares
from tests.api.world import EVENT, NOW, StubSeats, World

MANY = 501


class EmptyHall(StubSeats):
    def occupancy(
        self, organization_id: OrganizationId, event_id: EventId
    ) -> EventOccupancy | None:
        return EventOccupancy(event_id, NOW, ())


@pytest.fixture
def new_world() -> Iterator[Callable[[], World]]:
    worlds: list[World] = []

    def make() -> World:
        world = World(seats=EmptyHall())
        worlds.append(world)
        return world

    yield make
    for world in worlds:
        world.close()


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that rendered an answer."""
    names: list[str] = []
    write = replies.written

    def recorded(answer: object) -> bytes:
        names.append(threading.current_thread().name)
        return write(answer)

    for module in (replies, lookups):
        monkeypatch.setattr(module, "written", recorded)
    return names


def confirm_path(world: World, quantity: int) -> str:
    return f"/api/holds/{world.place(quantity=quantity).json()['hold_id']}/confirm"


def complete_path(world: World, quantity: int) -> str:
    hold_id = world.place(quantity=quantity).json()["hold_id"]
    checkout = world.call("POST", "/api/checkouts", json={"hold_ids": [hold_id]}).json()
    return f"/api/checkouts/{checkout['checkout_id']}/complete"


@pytest.mark.parametrize("path_of", [confirm_path, complete_path])
def test_an_order_of_many_tickets_is_rendered_on_a_thread(
    new_world: Callable[[], World], writers: list[str], path_of: Callable[[World, int], str]
) -> None:
    world = new_world()
    path, paid = path_of(world, MANY), {"payment_reference": "pay-1"}
    writers.clear()
    first = world.call("POST", path, json=paid)
    again = world.call("POST", path, json=paid)
    assert first.is_success
    assert again.json() == first.json()
    assert again.headers["idempotent-replayed"] == "true"
    assert [name.rpartition("-")[0] for name in writers] == ["holdfast-large-read", "holdfast-read"]


@pytest.mark.parametrize("quantity", [MANY - 1, MANY])
def test_a_cancellation_of_a_large_order_lists_only_its_own_tickets(
    new_world: Callable[[], World], quantity: int
) -> None:
    world = new_world()
    paid = world.call("POST", confirm_path(world, quantity), json={"payment_reference": "pay-1"})
    order = paid.json()["order"]
    ticket_id = order["tickets"][7]["ticket_id"]
    path = f"/api/orders/{order['order_id']}/cancel"
    body = {"ticket_ids": [ticket_id], "reason": "The buyer fell ill"}
    answer = world.call("POST", path, json=body).json()
    assert answer["status"] == "partly_cancelled"
    assert answer["session_ids"] == order["session_ids"]
    assert len(answer["tickets"]) == (quantity if quantity < MANY else 1)
    void = [each["ticket_id"] for each in answer["tickets"] if each["status"] == "void"]
    assert void == [ticket_id]
    rest = world.call("POST", path, json={"reason": "The buyer fell ill"}).json()
    assert (rest["status"], "cancelled_at" in rest) == ("cancelled", True)


def test_a_sale_is_answered_even_when_no_thread_is_free(
    new_world: Callable[[], World], writers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "LARGE_READS", Shares(threads=1, at_once=0, calls_max=0))
    world = new_world()
    answer = world.call("POST", confirm_path(world, MANY), json={"payment_reference": "pay-1"})
    assert (answer.status_code, len(answer.json()["order"]["tickets"])) == (200, MANY)
    assert writers[-1] == threading.main_thread().name


@pytest.mark.parametrize(
    ("path", "threads"),
    [
        ("/api/holds", "holdfast-read"),
        ("/api/orders", "holdfast-large-read"),
        (f"/api/events/{EVENT}/occupancy", "holdfast-large-read"),
    ],
)
def test_a_long_answer_is_rendered_on_the_thread_that_read_it(
    new_world: Callable[[], World], writers: list[str], path: str, threads: str
) -> None:
    answer = new_world().call("GET", path)
    assert answer.status_code == 200
    assert [name.rpartition("-")[0] for name in writers] == [threads]
