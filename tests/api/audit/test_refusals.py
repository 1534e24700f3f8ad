"""A request that is refused before it reaches the engine is recorded once, with the reason, and
without what the caller sent."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from holdfast.domain.access.scopes import Scope
from holdfast.domain.values import EmailAddress, Holder
from holdfast.ports.audit.attempts import FailedAttempt
from holdfast.services.access.authentication import secret_hash
from tests.api.world import BALCONY, EVENT, ORGANIZATION, SESSION, World
from tests.support.platform import sent

ANN = Holder(EmailAddress("ann@example.com"))


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def only_attempt(world: World) -> FailedAttempt:
    (attempt,) = world.attempts.kept
    assert attempt.organization_id == ORGANIZATION
    assert attempt.origin.actor.startswith("key:")
    return attempt


def test_wrong_input_is_recorded_with_its_fields_and_codes(world: World) -> None:
    answer = world.place(
        quantity=0, customer_email="ann@example.com", headers={"X-Request-ID": "r-1"}
    )
    assert answer.status_code == 400
    attempt = only_attempt(world)
    assert (attempt.action, attempt.code) == ("hold.create_failed", "invalid_quantity")
    assert attempt.details["errors"] == [{"field": "quantity", "code": "invalid_quantity"}]
    assert attempt.details["route"] == "POST /api/holds"
    assert (attempt.origin.request_id, attempt.asked.session_id) == ("r-1", SESSION)
    assert attempt.asked.holder == ANN


def test_what_was_asked_for_is_recorded(world: World) -> None:
    """However wrong the rest is: each of these bodies has a field that does not exist."""
    seats, other = [str(uuid4()) for _ in range(3)], uuid4()
    bodies: list[dict[str, Any]] = [
        {"ticket_type_id": str(BALCONY), "quantity": 3, "cart_token": "basket-1"},
        {"seat_ids": seats},
        {"lines": [{"ticket_type_id": str(BALCONY), "quantity": 2}, {"seat_ids": seats}]},
        {"lines": [7, {"ticket_type_id": str(other), "quantity": "many"}], "seat_ids": [None]},
        {"quantity": 10**12, "cart_token": "x" * 1000},
    ]
    for body in bodies:
        answer = world.call("POST", "/api/holds", json={**body, "unknown": 1})
        assert answer.status_code == 400
    asked = [attempt.asked for attempt in world.attempts.kept]
    assert [(each.ticket_type_ids, each.quantity, each.cart) for each in asked] == [
        ((BALCONY,), 3, "basket-1"),
        ((), 3, None),
        ((BALCONY,), 5, None),
        ((other,), 1, None),
        ((), None, None),
    ]
    assert [len(each.seat_ids) for each in asked] == [0, 3, 3, 0, 0]


def test_a_body_that_names_thousands_is_recorded_in_part(world: World) -> None:
    """A refused request leaves only a bounded number of ids behind."""
    ids = [str(uuid4()) for _ in range(30)]
    lines = [{"seat_ids": ids, "ticket_type_id": ids} for _ in range(20)]
    assert world.call("POST", "/api/holds", json={"lines": lines}).status_code == 400
    types = [{"ticket_type_id": each, "quantity": 1} for each in ids]
    assert world.call("POST", "/api/holds", json={"lines": types}).status_code == 400
    seats, others = (attempt.asked for attempt in world.attempts.kept)
    assert (len(seats.seat_ids), len(seats.ticket_type_ids), seats.quantity) == (10, 0, 600)
    assert (len(others.seat_ids), len(others.ticket_type_ids), others.quantity) == (0, 10, 30)


def test_a_browser_cannot_write_into_another_cart(world: World) -> None:
    body = {"cart_token": "basket-1", "unknown": 1}
    answer = world.call("POST", "/api/holds", secret=world.token(), json=body)
    assert answer.status_code == 400
    (attempt,) = world.attempts.kept
    assert attempt.asked.cart is None


@pytest.mark.parametrize("content", [b"{", b"[" * 5000, b"null", b'{"customer_email": 7}', b""])
def test_a_body_that_cannot_be_read_is_recorded_without_it(world: World, content: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = world.call("POST", "/api/holds", content=content, headers=headers)
    assert answer.status_code == 400
    assert only_attempt(world).asked.holder is None


def test_nothing_of_the_input_is_recorded(world: World) -> None:
    canary = f"canary-{uuid4().hex}"
    bodies: list[dict[str, Any]] = [
        {"customer_email": f"{canary} at example.com"},
        {"notes": canary * 100, "quantity": -1},
        {"ticket_type_id": canary},
        {canary: canary},
        {"metadata": {canary: {canary: canary}}},
    ]
    for body in bodies:
        assert world.place(**body).status_code == 400
    world.call("GET", "/api/holds", params={canary: canary})
    world.call("POST", f"/api/holds/{canary}/release")
    world.call("POST", "/api/holds", headers={"Idempotency-Key": canary * 20}, json={})
    assert len(world.attempts.kept) == len(bodies) + 3
    # The cart of a path and the holder are recorded on purpose; the holder becomes a hash.
    assert all(canary not in str(asdict(attempt)) for attempt in world.attempts.kept)


def test_a_key_without_the_scope_is_recorded(world: World) -> None:
    secret = world.keys.new_key(Scope.HOLDS_READ)
    assert world.call("POST", "/api/holds", secret=secret, json={}).status_code == 403
    attempt = only_attempt(world)
    assert (attempt.code, attempt.details["status"]) == ("insufficient_scope", 403)


def test_a_member_or_acting_user_without_the_scope_is_recorded_by_name(world: World) -> None:
    secret = world.keys.new_key(Scope.HOLDS_READ)
    headers = {"X-Acting-User": "clerk-7"}
    answer = world.call("POST", "/api/holds", secret=secret, headers=headers, json={})
    assert answer.status_code == 403
    assert only_attempt(world).origin.acting_user == "clerk-7"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/api/holds", {"customer_email": "ann@example.com"}, 400),
        ("POST", "/api/keys", {"customer_email": "ann@example.com"}, 403),
        ("GET", "/api/keys", None, 403),
        ("DELETE", "/api/holds/nonsense", None, 404),
    ],
)
def test_a_refusal_of_a_token_is_recorded_for_its_holder(
    world: World, method: str, path: str, body: dict[str, str] | None, status: int
) -> None:
    mallory = Holder(user_id="mallory")
    answer = world.call(method, path, secret=world.token(mallory), json=body)
    assert answer.status_code == status
    (attempt,) = world.attempts.kept
    assert attempt.asked.holder == mallory


def test_a_token_that_has_ended_is_recorded_with_its_claims(world: World) -> None:
    past = datetime.now(UTC) - timedelta(hours=1)
    ended = world.token(Holder(user_id="mallory"), issued_at=past, expires_at=past)
    forged = world.token()[:-1]
    for token in (ended, forged):
        assert world.call("GET", "/api/holds", secret=token).status_code == 401
    of_token, unknown = world.attempts.strangers
    assert of_token.token is not None
    assert of_token.token.holder == Holder(user_id="mallory")
    assert (unknown.token, unknown.secret_hash) == (None, None)


@pytest.mark.parametrize(
    ("address", "network"),
    [("203.0.113.7", "203.0.113.7"), ("2001:db8::7:1", "2001:db8::/64")],
)
def test_a_stranger_is_known_by_the_network(world: World, address: str, network: str) -> None:
    """One who changes addresses within a network does not fill the audit log."""
    world.address = address
    assert world.call("GET", "/api/holds", secret="hk_test_x").status_code == 401
    (stranger,) = world.attempts.strangers
    assert (stranger.origin.ip, stranger.network) == (address, network)


def test_an_unknown_seat_is_recorded_as_a_failed_reservation(world: World) -> None:
    seat_id = uuid4()
    path = f"/api/events/{EVENT}/seats/{seat_id}/reserve"
    answer = world.call("POST", path, json={"customer_email": "ann@example.com"})
    assert answer.status_code == 404
    attempt = only_attempt(world)
    assert attempt.action == "seat_reserve_failed"
    assert (attempt.catalog_id, attempt.seat_id) == (EVENT, seat_id)
    assert attempt.asked.holder == ANN


def test_a_refusal_of_the_engine_is_not_recorded_twice(world: World) -> None:
    """The world's engine has no journal, so all that is kept was recorded by the API."""
    assert world.place(ticket_type_id=str(BALCONY)).status_code == 409
    assert world.attempts.kept == []


def test_a_read_that_finds_nothing_is_no_attempt(world: World) -> None:
    assert world.call("GET", f"/api/holds/{uuid4()}").status_code == 404
    assert world.call("GET", "/api/nothing").status_code == 404
    assert world.attempts.kept == []


def test_a_key_that_is_not_valid_is_recorded_by_its_hash(world: World) -> None:
    secret = "hk_test_" + "x" * 43
    assert world.call("POST", "/api/holds", secret=secret, json={}).status_code == 401
    assert world.call("POST", "/api/holds", secret="", json={}).status_code == 401
    assert world.attempts.kept == []
    by_key, without = world.attempts.strangers
    assert by_key.secret_hash == secret_hash(secret.encode())
    assert without.secret_hash is None
    assert secret not in str(by_key)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"ip": "300.1.1.1"}, "ip"),
        ({"customer_email": "no address"}, "customer_email"),
        ({"customer_email": "ann@example.com", "user_id": "u-1"}, "user_id"),
        ({"outcome": "maybe"}, "outcome"),
        ({"session_id": "none"}, "session_id"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(
    world: World, query: dict[str, str], field: str
) -> None:
    answer = world.call("GET", "/api/audit", **sent(**query))
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]
