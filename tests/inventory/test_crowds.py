"""Many clients at once, at a service of two processes."""

from collections import Counter
from typing import Any

from tests.inventory.store import Store, an_id
from tests.support.auditing import assert_sound
from tests.support.crowds import Crowd
from tests.support.servers import RunningServer

ROUNDS = 20


def new_hold(store: Store) -> dict[str, Any]:
    return {"hold_id": an_id(), "session_id": store.session_id, "lines": store.lines(1)}


def test_fifty_clients_want_the_last_ten_tickets(inventory: RunningServer, store: Store) -> None:
    crowd = Crowd(store.platform, 50)
    for _ in range(ROUNDS):
        assert store.stock(10).status_code == 200
        replies = crowd.all_at_once(lambda _: crowd.post("/inventory/hold", new_hold(store)))
        assert Counter(reply.status for reply in replies) == {201: 10, 409: 40}
        refused = [reply.json() for reply in replies if reply.status == 409]
        assert {each["available_quantity"] for each in refused} == {0}
        assert store.counts() == (10, 0, 10, 0)
        store.ticket_type_id = an_id()
    crowd.close()
    assert_sound(inventory.database_url)


def test_a_hundred_holds_at_once_succeed(inventory: RunningServer, store: Store) -> None:
    assert store.stock(100).status_code == 200
    crowd = Crowd(store.platform, 100)
    replies = crowd.all_at_once(lambda _: crowd.post("/inventory/hold", new_hold(store)))
    crowd.close()
    assert {reply.status for reply in replies} == {201}
    assert store.counts() == (100, 0, 100, 0)


def test_the_first_items_of_a_session_are_made_at_once(store: Store) -> None:
    """The event and the session, which they share, are made once."""
    store.session_id = an_id()
    ids = [an_id() for _ in range(20)]
    crowd = Crowd(store.platform, 20)
    paths = [f"/inventory/items/{store.session_id}/{each}" for each in ids]
    replies = crowd.all_at_once(lambda number: crowd.send("PUT", paths[number], {"total": 3}))
    crowd.close()
    assert {reply.status for reply in replies} == {200}
    found = store.client.get(f"/inventory/items/{store.session_id}").json()["data"]
    assert {each["ticket_type_id"] for each in found} == set(ids)
