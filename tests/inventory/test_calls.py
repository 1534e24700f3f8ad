"""The calls of the Inventory Service over HTTP."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.inventory.store import Store, an_id
from tests.support.auditing import assert_sound, rows
from tests.support.platform import new_platform
from tests.support.servers import RunningServer


def error(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["message"]
    assert answer.headers["x-request-id"] == body["request_id"]
    return answer.status_code, body["error"]


class TestHold:
    def test_a_new_reservation_and_its_repeat(self, store: Store) -> None:
        hold_id = an_id()
        answer = store.hold(hold_id, 4)
        assert answer.status_code == 201
        assert answer.json() == {
            "hold_id": hold_id,
            "session_id": store.session_id,
            "status": "held",
            "lines": store.lines(4),
        }
        again = store.hold(hold_id, 4)
        assert (again.status_code, again.json()) == (200, answer.json())
        assert store.reservation(hold_id).json() == answer.json()
        assert store.counts() == (10, 6, 4, 0)

    def test_too_few_tickets(self, store: Store) -> None:
        store.hold(an_id(), 9)
        hold_id = an_id()
        answer = store.hold(hold_id, 2)
        assert error(answer) == (409, "insufficient_inventory")
        assert answer.json()["message"] == "Only 1 ticket(s) available"
        assert answer.json()["available_quantity"] == 1
        assert error(store.reservation(hold_id)) == (404, "hold_not_found")

    def test_other_lines_under_the_same_id(self, store: Store) -> None:
        hold_id = an_id()
        store.hold(hold_id, 4)
        assert error(store.hold(hold_id, 5)) == (422, "idempotency_key_reused")

    def test_an_idempotency_key_is_kept(self, store: Store) -> None:
        """The hold id is enough, but the header means what it means everywhere."""
        body = {"hold_id": an_id(), "session_id": store.session_id, "lines": store.lines(1)}
        key = {"Idempotency-Key": an_id()}
        first, again = (
            store.client.post("/inventory/hold", json=body, headers=key) for _ in range(2)
        )
        assert (first.status_code, again.status_code) == (201, 201)
        assert again.headers["idempotent-replayed"] == "true"
        other = body | {"hold_id": an_id()}
        refused = store.client.post("/inventory/hold", json=other, headers=key)
        assert error(refused) == (422, "idempotency_key_reused")


class TestRelease:
    def test_a_released_reservation_and_its_repeat(self, store: Store) -> None:
        hold_id = an_id()
        store.hold(hold_id, 4)
        answer = store.release(hold_id)
        assert (answer.status_code, answer.json()["status"]) == (200, "released")
        assert store.release(hold_id).json() == answer.json()
        assert store.counts() == (10, 10, 0, 0)

    def test_a_release_before_its_hold(self, store: Store) -> None:
        """The answer is the same as after it."""
        early, late = an_id(), an_id()
        store.hold(late, 1)
        answers = [store.release(each) for each in (early, late)]
        assert [each.status_code for each in answers] == [200, 200]
        first, second = (each.json() | {"hold_id": ""} for each in answers)
        assert first == second
        refused = store.hold(early, 1)
        assert error(refused) == (409, "invalid_hold_state")
        assert refused.json()["current_status"] == "released"
        assert store.reservation(early).json() == answers[0].json()

    def test_it_takes_no_lines(self, store: Store) -> None:
        assert error(store.release(an_id(), lines=[])) == (400, "validation_error")


class TestCommit:
    def test_a_sale_and_its_repeat(self, store: Store) -> None:
        hold_id = an_id()
        store.hold(hold_id, 4)
        answer = store.commit(hold_id, 4)
        assert (answer.status_code, answer.json()["status"]) == (200, "committed")
        assert store.commit(hold_id, 4).json() == answer.json()
        again = store.hold(hold_id, 4)
        assert (again.status_code, again.json()) == (200, answer.json())
        refused = store.release(hold_id)
        assert error(refused) == (409, "invalid_hold_state")
        assert refused.json()["current_status"] == "committed"
        assert store.counts() == (10, 6, 0, 4)

    def test_before_its_hold(self, store: Store) -> None:
        assert error(store.commit(an_id())) == (404, "hold_not_found")

    def test_after_a_release(self, store: Store) -> None:
        hold_id = an_id()
        store.release(hold_id)
        assert error(store.commit(hold_id)) == (409, "invalid_hold_state")

    def test_with_fewer_tickets_and_with_none(self, store: Store) -> None:
        hold_id = an_id()
        store.hold(hold_id, 4)
        store.commit(hold_id, 4)
        assert store.commit(hold_id, 1).json()["lines"] == store.lines(1)
        assert store.commit(hold_id, 4).json()["lines"] == store.lines(1)
        assert store.counts() == (10, 9, 0, 1)
        assert store.commit(hold_id, 0).json()["lines"] == []
        assert store.reservation(hold_id).json()["status"] == "committed"
        assert store.counts() == (10, 10, 0, 0)
        assert store.hold(hold_id, 4).status_code == 200
        assert error(store.commit(hold_id, 5)) == (422, "idempotency_key_reused")


class TestItems:
    def test_the_total_can_change(self, store: Store) -> None:
        store.hold(an_id(), 4)
        answer = store.stock(6)
        assert (answer.status_code, answer.json()["available"]) == (200, 2)
        assert answer.json() == store.client.get(str(answer.request.url)).json()
        refused = store.stock(3)
        assert error(refused) == (409, "capacity_in_use")
        assert refused.json()["in_use"] == 4
        assert store.counts() == (6, 2, 4, 0)

    def test_all_items_of_a_session(self, store: Store) -> None:
        other = an_id()
        store.stock(5, other)
        answer = store.client.get(f"/inventory/items/{store.session_id}")
        totals = {each["ticket_type_id"]: each["total"] for each in answer.json()["data"]}
        assert totals == {store.ticket_type_id: 10, other: 5}

    def test_an_item_of_another_session(self, store: Store) -> None:
        other = Store(store.platform, ticket_type_id=store.ticket_type_id)
        assert error(other.stock(5)) == (404, "ticket_type_not_found")

    @pytest.mark.parametrize("total", [-1, 1.5, "5", None])
    def test_an_invalid_total(self, store: Store, total: Any) -> None:
        assert error(store.stock(total)) == (400, "validation_error")

    def test_a_session_has_a_limited_number_of_items(
        self, inventory: RunningServer, store: Store
    ) -> None:
        """500 calls would take long: they are rows here."""
        rows(
            inventory.database_url,
            "INSERT INTO ticket_type (organization_id, id, session_id, name, price_minor,"
            " is_seated) SELECT %s, gen_random_uuid(), %s, 'type', 0, false"
            " FROM generate_series(1, 499) RETURNING id",
            store.platform.organization_id,
            store.session_id,
        )
        assert error(store.stock(1, an_id())) == (409, "too_many_items")
        assert store.stock(11).status_code == 200

    def test_unknown_ids_in_a_path(self, store: Store) -> None:
        paths = (f"{an_id()}", f"{store.session_id}/{an_id()}", f"{an_id()}/{an_id()}", "1", "1/2")
        for path in paths:
            answer = store.client.get(f"/inventory/items/{path}")
            assert error(answer)[0] == 404
        for path in (an_id(), "x"):
            assert error(store.reservation(path)) == (404, "hold_not_found")


class TestList:
    def test_pages_oldest_first(self, store: Store) -> None:
        ids = [an_id() for _ in range(5)]
        for each in ids:
            store.hold(each)
        store.release(ids[1])
        store.commit(ids[3])
        store.release(tomb := an_id())
        for limit in (1, 2, 100):
            found = [each["hold_id"] for each in store.listed(limit=limit)]
            assert found == [*ids, tomb]
        by_status = {
            status: [each["hold_id"] for each in store.listed(status=status, limit=2)]
            for status in ("held", "released", "committed")
        }
        assert by_status == {
            "held": [ids[0], ids[2], ids[4]],
            "released": [ids[1], tomb],
            "committed": [ids[3]],
        }

    @pytest.mark.parametrize(
        "query",
        [{"status": "active"}, {"limit": 0}, {"limit": 101}, {"after": "x"}, {"cursor": "x"}],
    )
    def test_invalid_queries(self, store: Store, query: dict[str, Any]) -> None:
        answer = store.client.get("/inventory/holds", params=query)
        assert error(answer)[0] == 400


class TestInvalidRequests:
    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({"session_id": str(uuid4())}, "invalid_session"),
            ({"lines": [{"ticket_type_id": str(uuid4()), "quantity": 1}]}, "invalid_ticket_type"),
            ({"lines": []}, "validation_error"),
            ({"lines": None}, "validation_error"),
            ({"hold_id": "1"}, "validation_error"),
            ({"surplus": 1}, "validation_error"),
            ({"lines": [{"ticket_type_id": "x", "quantity": 1}]}, "validation_error"),
        ],
    )
    def test_a_hold(self, store: Store, body: dict[str, Any], code: str) -> None:
        about = {"hold_id": an_id(), "session_id": store.session_id, "lines": store.lines(1)}
        answer = store.client.post("/inventory/hold", json=about | body)
        assert error(answer) == (400, code)

    @pytest.mark.parametrize("quantity", [-1, 100_001])
    @pytest.mark.parametrize("call", ["hold", "commit"])
    def test_a_quantity(self, store: Store, call: str, quantity: int) -> None:
        send = store.hold if call == "hold" else store.commit
        assert error(send(an_id(), quantity)) == (400, "invalid_quantity")

    @pytest.mark.parametrize("call", ["hold", "commit"])
    def test_the_number_of_lines(self, store: Store, call: str) -> None:
        about = {"hold_id": an_id(), "session_id": store.session_id}
        twice = store.lines(1) * 2
        many = [{"ticket_type_id": an_id(), "quantity": 1} for _ in range(51)]
        for lines in (twice, many):
            answer = store.client.post(f"/inventory/{call}", json={**about, "lines": lines})
            assert error(answer) == (400, "validation_error")

    def test_unknown_sessions(self, store: Store) -> None:
        other = Store(store.platform)
        for answer in (other.hold(an_id()), other.release(an_id()), other.commit(an_id())):
            assert error(answer) == (400, "invalid_session")


class TestCallers:
    def test_without_a_valid_key(self, inventory: RunningServer, store: Store) -> None:
        for credential in ("Basic", "Bearer hk_test_unknown"):
            stranger = Store(new_platform(inventory.base_url, inventory.database_url))
            stranger.client.headers["Authorization"] = credential
            for answer in (stranger.hold(an_id()), stranger.reservation(an_id())):
                assert error(answer) == (401, "unauthorized")

    def test_with_another_scope(self, inventory: RunningServer, store: Store) -> None:
        url, database = inventory.base_url, inventory.database_url
        other = Store(new_platform(url, database, ("holds:write", "catalog:write")))
        for answer in (other.hold(an_id()), other.stock(1), other.reservation(an_id())):
            assert error(answer) == (403, "insufficient_scope")

    def test_each_organization_has_its_own_inventory(
        self, inventory: RunningServer, store: Store
    ) -> None:
        """The same ids in another organization are other records."""
        url, database = inventory.base_url, inventory.database_url
        ids = (store.session_id, store.ticket_type_id)
        other = Store(new_platform(url, database, ("inventory",)), *ids)
        hold_id = an_id()
        store.hold(hold_id, 3)
        assert error(other.reservation(hold_id)) == (404, "hold_not_found")
        assert error(other.hold(hold_id)) == (400, "invalid_session")
        other.stock(5)
        assert other.hold(hold_id, 2).status_code == 201
        assert other.release(hold_id).status_code == 200
        assert [each["hold_id"] for each in other.listed(status="held")] == []
        assert store.counts() == (10, 7, 3, 0)


class TestService:
    def test_health_and_documents(self, inventory: RunningServer) -> None:
        for path in ("/healthz", "/readyz", "/inventory/docs"):
            assert httpx.get(inventory.base_url + path).status_code == 200
        document = httpx.get(f"{inventory.base_url}/inventory/schema").json()
        assert set(document["paths"]) == {
            "/inventory/hold",
            "/inventory/release",
            "/inventory/commit",
            "/inventory/holds",
            "/inventory/holds/{hold_id}",
            "/inventory/items/{session_id}",
            "/inventory/items/{session_id}/{ticket_type_id}",
        }

    def test_it_serves_nothing_else(self, inventory: RunningServer, store: Store) -> None:
        for path in ("/api/holds", "/inventory/other", "/inventory"):
            assert store.client.get(path).status_code == 404

    def test_the_request_id_comes_back(self, store: Store) -> None:
        answer = store.client.get("/inventory/holds", headers={"X-Request-ID": "call-7"})
        assert answer.headers["x-request-id"] == "call-7"

    def test_its_books_are_sound(self, inventory: RunningServer, store: Store) -> None:
        for quantity in (4, 1, 0):
            hold_id = an_id()
            store.hold(hold_id, 4)
            store.commit(hold_id, 4)
            store.commit(hold_id, quantity)
        store.release(an_id())
        store.hold(an_id(), 1)
        assert_sound(inventory.database_url, grace_seconds=1)
