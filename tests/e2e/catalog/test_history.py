"""Catalog changes leave an audit entry and a fact: who changed what, from what, to what."""

from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.answers import problem_of
from tests.e2e.audit.test_audit import entries
from tests.e2e.paying import held, ok, read
from tests.relay.contracts import misfits, schema_of
from tests.support.patience import wait_until
from tests.support.platform import Json, Platform, new_platform
from tests.support.servers import RunningServer


def facts(platform: Platform) -> list[Json]:
    """Facts visible so far; callers wait for more, as a transaction may still be running."""
    return list(read(platform, "/api/facts", limit=100)["data"])


def about(platform: Platform, id_: str) -> list[Json]:
    """The facts about one part of the catalog, as many as there are audit entries."""
    written = len(entries(platform, catalog_id=id_))

    def found() -> list[Json]:
        return [fact for fact in facts(platform) if fact["aggregate_id"] == id_]

    wait_until(lambda: len(found()) >= written, "the facts can be polled")
    matching = found()
    for fact in matching:
        assert misfits(schema_of(fact["event_type"]), _published(fact)) == []
    return matching


def _published(fact: Json) -> Json:
    return {name: value for name, value in fact.items() if name != "cursor"}


def changed(platform: Platform, path: str, **fields: Any) -> Json:
    return dict(ok(platform.client.patch(path, json=fields)))


def last_change(platform: Platform, id_: str) -> Json:
    """The newest entry, after checking that its fact agrees."""
    entry = entries(platform, catalog_id=id_)[0]
    fact = about(platform, id_)[-1]
    assert fact["event_type"] == entry["action"]
    assert fact["payload"].get("old") == entry.get("old")
    new = dict(entry["new"])
    assert new.pop("version") == len(entries(platform, catalog_id=id_))
    assert fact["payload"]["new"] == new
    return fact


def test_creating_an_event_publishes_all_its_fields(platform: Platform) -> None:
    body = {"name": "Gala", "currency": "EUR", "hold_policy": {"ttl_seconds": 300}}
    event = platform.made("/api/events", body)
    fact = last_change(platform, event["event_id"])
    assert fact["event_type"] == "event.created"
    new = fact["payload"]["new"]
    assert new == {name: event[name] for name in ("name", "currency", "status", "hold_policy")}
    assert fact["payload"]["organization_id"] == platform.organization_id


def test_an_entry_names_the_actor_and_the_request(platform: Platform) -> None:
    event_id = platform.on_sale().event_id
    request_id = f"request-{uuid4().hex}"
    headers = {"X-Request-ID": request_id, "User-Agent": "back-office/3"}
    ok(platform.client.patch(f"/api/events/{event_id}", json={"name": "B"}, headers=headers))
    (change, creation) = entries(platform, catalog_id=event_id)
    assert (change["action"], creation["action"]) == ("event.changed", "event.created")
    assert (change["request_id"], change["user_agent"]) == (request_id, "back-office/3")
    assert change["actor"].startswith("key:")
    assert change["ip"] == "127.0.0.1"
    assert not change.keys() & {"hold_id", "seat_id"}


def test_changing_an_event_publishes_the_changed_fields(platform: Platform) -> None:
    path = f"/api/events/{platform.on_sale(5).event_id}"
    event_id = path.rpartition("/")[2]
    changed(platform, path, name="Great gala", status="live", hold_policy={"quantity_max": 4})
    assert last_change(platform, event_id)["payload"] == {
        "event_id": event_id,
        "organization_id": platform.organization_id,
        "old": {"name": "Concert", "status": "published"},
        "new": {"name": "Great gala", "status": "live", "hold_policy": {"quantity_max": 4}},
    }
    changed(platform, path, sale_ends_at="2030-06-21T21:30:00+02:00", name="Great gala")
    payload = last_change(platform, event_id)["payload"]
    assert payload["old"] == {}
    assert payload["new"] == {"sale_ends_at": "2030-06-21T19:30:00Z"}
    changed(platform, path, status="cancelled")
    payload = last_change(platform, event_id)["payload"]
    assert (payload["old"], payload["new"]) == ({"status": "live"}, {"status": "cancelled"})


def test_session_and_pool_facts_name_their_parents(platform: Platform) -> None:
    sale = platform.on_sale()
    ids = {"session_id": sale.session_id, "event_id": sale.event_id}
    changed(platform, f"/api/sessions/{sale.session_id}", starts_at="2030-06-21T19:30:00Z")
    fact = last_change(platform, sale.session_id)
    assert fact["event_type"] == "session.changed"
    assert fact["payload"] == {
        **ids,
        "organization_id": platform.organization_id,
        "old": {},
        "new": {"starts_at": "2030-06-21T19:30:00Z"},
    }
    body = {"session_id": sale.session_id, "name": "Floor", "capacity": 100}
    pool_id = platform.made("/api/pools", body)["pool_id"]
    assert last_change(platform, pool_id)["payload"]["new"] == {"name": "Floor", "capacity": 100}
    changed(platform, f"/api/pools/{pool_id}", capacity=90)
    assert last_change(platform, pool_id)["payload"] == {
        "pool_id": pool_id,
        **ids,
        "organization_id": platform.organization_id,
        "old": {"capacity": 100},
        "new": {"capacity": 90},
    }


def test_ticket_type_facts_include_price_pools_and_capacity(platform: Platform) -> None:
    sale = platform.on_sale(50)
    id_ = sale.ticket_type_id
    made = last_change(platform, id_)
    assert made["event_type"] == "ticket_type.created"
    new = made["payload"]["new"]
    assert (new["price"], new["capacity"], new["is_seated"]) == (4500, 50, False)
    (pool_id,) = new["pool_ids"]
    body = {"session_id": sale.session_id, "name": "House", "capacity": 70}
    house_id = platform.made("/api/pools", body)["pool_id"]
    pool_ids = sorted([pool_id, house_id])
    changed(platform, f"/api/ticket-types/{id_}", price=4900, pool_ids=pool_ids)
    payload = last_change(platform, id_)["payload"]
    assert payload["old"] == {"price": 4500, "pool_ids": [pool_id]}
    assert payload["new"] == {"price": 4900, "pool_ids": pool_ids}


def test_block_facts_include_capacity_and_prices(platform: Platform) -> None:
    hall = platform.hall(2, 5)
    body = {"session_id": hall.session_id, "name": "Balcony"}
    block_id = platform.made("/api/blocks", body)["block_id"]
    assert last_change(platform, block_id)["payload"]["new"] == {
        "name": "Balcony",
        "rank": 1,
        "ticket_types": [],
    }
    path = f"/api/blocks/{block_id}"
    sold = [{"ticket_type_id": hall.ticket_type_id, "price": 900}]
    changed(platform, path, capacity=3, ticket_types=sold)
    payload = last_change(platform, block_id)["payload"]
    assert payload["old"] == {"ticket_types": []}
    assert payload["new"] == {"capacity": 3, "ticket_types": sold}
    changed(platform, path, capacity=None)
    assert last_change(platform, block_id)["payload"]["old"] == {"capacity": 3}


def test_a_seat_import_publishes_one_fact_whatever_its_size(platform: Platform) -> None:
    hall = platform.hall(4, 25, capacity=60)
    (imported, _) = entries(platform, catalog_id=hall.session_id)
    assert imported["action"] == "seats.imported"
    block = {"block_id": hall.block_id, "name": "Stalls", "seats_added": 100, "is_new": True}
    terms = {"rank": 0, "capacity": 60, "ticket_types": []}
    assert last_change(platform, hall.session_id)["payload"]["new"] == {"blocks": [block | terms]}
    more = {"name": "Stalls", "rows": {"from": "8", "to": "9"}, "seats_per_row": 5}
    platform.made(f"/api/sessions/{hall.session_id}/seats", {"blocks": [more]})
    assert last_change(platform, hall.session_id)["payload"]["new"] == {
        "blocks": [block | {"seats_added": 10, "is_new": False}]
    }


@pytest.mark.parametrize("fields", [{"name": "Concert"}, {"status": "published"}])
def test_an_unchanged_value_publishes_nothing(platform: Platform, fields: Json) -> None:
    event_id = platform.on_sale().event_id
    before = ok(platform.client.get(f"/api/events/{event_id}"))
    assert changed(platform, f"/api/events/{event_id}", **fields) == before
    assert [entry["action"] for entry in entries(platform, catalog_id=event_id)] == [
        "event.created"
    ]


def test_a_refused_change_publishes_nothing(platform: Platform) -> None:
    sale = platform.on_sale(5)
    held(platform, sale, 3)
    (pool_id,) = ok(platform.client.get(f"/api/ticket-types/{sale.ticket_type_id}"))["pool_ids"]
    answer = platform.client.patch(f"/api/pools/{pool_id}", json={"capacity": 2})
    problem_of(answer, 409, "capacity_in_use")
    assert entries(platform, catalog_id=pool_id) == []


def test_a_repeated_request_is_published_once(platform: Platform) -> None:
    event_id = platform.on_sale().event_id
    headers = {"Idempotency-Key": uuid4().hex}
    for _ in range(2):
        path = f"/api/events/{event_id}"
        ok(platform.client.patch(path, json={"name": "Gala"}, headers=headers))
    assert len(entries(platform, catalog_id=event_id, action="event.changed")) == 1


def test_an_events_facts_come_before_those_of_its_children(platform: Platform) -> None:
    sale = platform.on_sale(5)
    about(platform, sale.ticket_type_id)
    assert [fact["event_type"] for fact in facts(platform)] == [
        "event.created",
        "session.created",
        "ticket_type.created",
    ]


def test_nobody_reads_another_organizations_catalog_history(
    platform: Platform, server: RunningServer
) -> None:
    event_id = platform.on_sale(5).event_id
    about(platform, event_id)
    other = new_platform(server.base_url, server.database_url)
    assert entries(other) == []
    assert entries(other, catalog_id=event_id) == []
    assert facts(other) == []
