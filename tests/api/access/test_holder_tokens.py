"""Holder tokens: closed routes, forged tokens, fields that the token decides, and CORS."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4, uuid5

import httpx
import pytest

from holdfast.domain.access.scopes import Mode
from holdfast.domain.access.tokens import TOKEN_SCOPES
from holdfast.domain.ids import EventId, OrganizationId, SessionId
from holdfast.domain.values import EmailAddress, Holder
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.orders.routes import DEMO_ROUTES
from holdfast.entrypoints.api.routes import ROUTES
from holdfast.services.access.installation_secrets import InstallationSecrets
from holdfast.services.access.token_box import TOKEN_LENGTH_MAX, TokenBox
from tests.api.world import EVENT, FLOOR, ORGANIZATION, SECRET, SESSION, World, hold_body
from tests.support.platform import EMAIL_HEADER
from tests.support.platform import sent as sent_filters

OPEN = {
    "GET /api/events",
    "GET /api/events/{event_id}",
    "GET /api/sessions",
    "GET /api/sessions/{session_id}",
    "GET /api/sessions/{session_id}/availability",
    "GET /api/sessions/{session_id}/seats",
    "GET /api/ticket-types",
    "GET /api/ticket-types/{ticket_type_id}",
    "GET /api/blocks",
    "GET /api/blocks/{block_id}",
    "GET /api/events/{event_id}/seats/{seat_id}",
    "POST /api/events/{event_id}/seats/{seat_id}/reserve",
    "POST /api/holds",
    "GET /api/holds",
    "GET /api/holds/{hold_id}",
    "DELETE /api/holds/{hold_id}",
    "POST /api/holds/{hold_id}/release",
    "POST /api/holds/{hold_id}/extend",
    "PUT /api/carts/{cart_token}/hold",
    "GET /api/carts/{cart_token}/hold",
    "DELETE /api/carts/{cart_token}/hold",
    "POST /api/carts/{cart_token}/hold/renew",
    "POST /api/checkouts",
    "GET /api/checkouts/{checkout_id}",
    "POST /api/checkouts/{checkout_id}/complete",
    "GET /api/orders",
    "GET /api/orders/{order_id}",
    "POST /api/demo/payments",
}
PAGE = "https://tickets.example.com"


@pytest.fixture
def world() -> Iterator[World]:
    """One of its own: these tests revoke tokens and allow origins."""
    made = World()
    yield made
    made.close()


def name_of(route: Route[Any]) -> str:
    return f"{route.method} {route.path}"


def own_hold(**changes: Any) -> dict[str, Any]:
    return hold_body(customer_email=None, **changes)


def test_exactly_these_routes_are_open_to_tokens() -> None:
    """A new route is closed unless it says otherwise; opening one is a decision."""
    every = (*ROUTES, *DEMO_ROUTES)
    assert {name_of(route) for route in every if route.is_for_holders} == OPEN


def forged(world: World) -> Iterator[tuple[str, str]]:
    token = world.token()
    yield "another secret", TokenBox(["x" * 40]).sealed(world.box.opened(token.encode()))  # type: ignore[arg-type]
    yield "another mode", token.replace("ht_test_", "ht_live_")
    yield "another prefix", token.replace("ht_test_", "hk_test_")
    yield "no prefix", token.removeprefix("ht_test_")
    yield "cut off", token[:-1]
    yield "longer", token + "A"
    yield "padded", token + "=="
    raw = bytearray(base64.urlsafe_b64decode(token.removeprefix("ht_test_") + "=="))
    raw[5:21] = uuid4().bytes
    yield "another organization", "ht_test_" + base64.urlsafe_b64encode(raw).decode().rstrip("=")
    for at in (0, 1, 25, 40, len(raw) - 1):
        changed = bytearray(base64.urlsafe_b64decode(token.removeprefix("ht_test_") + "=="))
        changed[at] ^= 1
        text = base64.urlsafe_b64encode(changed).decode().rstrip("=")
        yield f"byte {at} changed", f"ht_test_{text}"
    header, claims = {"alg": "none", "typ": "JWT"}, {"org": str(ORGANIZATION), "sub": "buyer-1"}
    parts = (base64.urlsafe_b64encode(json.dumps(each).encode()) for each in (header, claims))
    yield "a JWT without a signature", "ht_test_" + b".".join(parts).decode().rstrip("=") + "."
    yield "huge", "ht_test_" + "A" * 60_000
    yield "empty", "ht_test_"


def test_a_forged_token_is_401_without_a_lookup(world: World) -> None:
    for name, token in forged(world):
        answer = world.call("GET", "/api/holds", secret=token)
        assert (answer.status_code, answer.json()["error"]) == (401, "unauthorized"), name
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]
        assert token not in answer.text
    assert world.tokens.questions == 0
    assert world.call("GET", "/api/holds", secret=world.token()).status_code == 200


def test_no_changed_letter_of_a_token_is_accepted(world: World) -> None:
    token = world.token(Holder(EmailAddress("ada@example.com"), "user-1"))
    for at in range(len(token)):
        for letter in "Az09-_":
            changed = token[:at] + letter + token[at + 1 :]
            assert changed == token or world.box.opened(changed.encode()) is None


def test_a_token_shows_nobody_who_its_holder_is(world: World) -> None:
    token = world.token(Holder(EmailAddress("ada@example.com"), "user-1"))
    raw = base64.urlsafe_b64decode(token.removeprefix("ht_test_") + "==")
    assert b"ada" not in raw
    assert b"user-1" not in raw
    longest = Holder(EmailAddress(f"{'a' * 60}@{('b' * 60 + '.') * 3}com"), "\U0001f600" * 255)
    assert len(world.token(longest)) <= TOKEN_LENGTH_MAX


def test_a_token_of_another_installation_or_an_unknown_key_is_refused(world: World) -> None:
    old = TokenBox(["an older secret of this installation"])
    token = old.sealed(world.box.opened(world.token().encode()))  # type: ignore[arg-type]
    assert world.call("GET", "/api/holds", secret=token).status_code == 401
    rotated = TokenBox([SECRET, "an older secret of this installation"])
    assert rotated.opened(token.encode()) is not None
    assert not TokenBox(()).can_seal
    assert TokenBox(()).opened(token.encode()) is None


def test_an_expired_token_is_refused(world: World) -> None:
    token = world.token(expires_at=datetime.now(UTC) - timedelta(seconds=1))
    answer = world.call("GET", "/api/holds", secret=token)
    assert answer.status_code == 401
    assert "new one" in answer.json()["message"]


def test_a_valid_token_is_looked_up_once(world: World) -> None:
    token = world.token()
    for _ in range(5):
        assert world.call("GET", "/api/holds", secret=token).status_code == 200
    assert world.tokens.questions == 1


@pytest.mark.parametrize(
    "body", [{"user_id": "ada"}, {"customer_email": "ada@example.com"}], ids=["user", "address"]
)
def test_revocation_by_user_or_address(world: World, body: dict[str, str]) -> None:
    holder = Holder(EmailAddress("Ada@example.com"), "ada")
    token, other = world.token(holder), world.token(Holder(user_id="grace"))
    assert world.call("GET", "/api/holds", secret=token).status_code == 200
    assert world.call("POST", "/api/holder-tokens/revoke", json=body).status_code == 200
    assert world.call("GET", "/api/holds", secret=token).status_code == 401
    assert world.call("GET", "/api/holds", secret=other).status_code == 200


def test_revocation_needs_a_holder(world: World) -> None:
    answer = world.call("POST", "/api/holder-tokens/revoke", json={})
    assert (answer.status_code, answer.json()["error"]) == (400, "holder_required")


@pytest.mark.parametrize("name", ["access_token", "token", "key"])
def test_a_token_in_the_query_is_not_accepted(world: World, name: str) -> None:
    answer = world.call("GET", "/api/holds", secret="", params={name: world.token()})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    "fields", [["user_id"], ["customer_email"], ["customer_email", "user_id"]], ids=str
)
def test_the_token_says_who_the_holder_is(world: World, fields: list[str]) -> None:
    token, named = world.token(), dict.fromkeys(fields, "buyer-1@example.com")
    for method, path, sent in (
        ("POST", "/api/holds", {"json": own_hold() | named}),
        ("PUT", "/api/carts/c/hold", {"json": {"items": []} | named}),
        ("POST", "/api/carts/c/hold/renew", {"json": named}),
        ("POST", f"/api/holds/{UUID(int=1)}/extend", {"json": {"minutes": 1} | named}),
        ("POST", "/api/checkouts", {"json": {"cart_token": "c"} | named}),
        ("POST", f"/api/events/{EVENT}/seats/{UUID(int=1)}/reserve", {"json": named}),
        ("GET", "/api/holds", sent_filters(**named)),
        ("GET", "/api/orders", sent_filters(**named)),
        ("GET", f"/api/events/{EVENT}/seats/{UUID(int=1)}", sent_filters(**named)),
    ):
        answer = world.call(method, path, secret=token, **sent)
        assert (answer.status_code, answer.json()["error"]) == (400, "holder_from_token"), path
        assert sorted(error["field"] for error in answer.json()["errors"]) == fields


def test_a_token_cannot_send_a_price_or_act_as_operator(world: World) -> None:
    token = world.token()
    line = {"ticket_type_id": str(FLOOR), "quantity": 1, "unit_price": 1}
    lines = {"session_id": str(SESSION), "lines": [{**line, "unit_price": None}, line]}
    items = {"session_id": str(SESSION), "items": [{"cart_item_id": "1", **line}]}
    for method, path, body, field in (
        ("POST", "/api/holds", own_hold(unit_price=0), "unit_price"),
        ("POST", "/api/holds", lines, "lines[1].unit_price"),
        ("PUT", "/api/carts/c/hold", items, "items[0].unit_price"),
        (
            "POST",
            f"/api/holds/{UUID(int=1)}/extend",
            {"minutes": 1, "as_operator": True},
            "as_operator",
        ),
    ):
        answer = world.call(method, path, secret=token, json=body)
        assert (answer.status_code, answer.json()["error"]) == (403, "secret_key_required")
        assert answer.json()["errors"][0]["field"] == field


def test_a_token_cannot_write_notes_or_metadata_nor_read_notes(world: World) -> None:
    """They are the platform's. A server sees its notes: the control."""
    token = world.token()
    for remark in ({"notes": "VIP"}, {"metadata": {"campaign": "spring"}}):
        answer = world.call("POST", "/api/holds", secret=token, json=own_hold() | remark)
        assert (answer.status_code, answer.json()["error"]) == (403, "secret_key_required")
    sent = hold_body(customer_email=None, user_id="buyer-1", notes="has complained twice")
    path = f"/api/holds/{world.call('POST', '/api/holds', json=sent).json()['hold_id']}"
    assert world.call("POST", f"{path}/extend", json={"minutes": 1}).json()["notes"]
    extended = world.call("POST", f"{path}/extend", secret=token, json={"minutes": 1})
    assert extended.status_code == 200
    assert "notes" not in extended.json()
    assert "notes" not in world.call("POST", f"{path}/release", secret=token).json()


def test_a_token_cannot_label_a_hold_with_a_cart(world: World) -> None:
    """It may be another's: a checkout of that cart would find holds of two people. Carts, and
    checkouts of one's own cart, stay open."""
    token, label = world.token(), {"cart_token": "c"}
    seat = f"/api/events/{UUID(int=1)}/seats/{UUID(int=1)}/reserve"
    for path, body in (("/api/holds", own_hold() | label), (seat, label)):
        answer = world.call("POST", path, secret=token, json=body)
        assert (answer.status_code, answer.json()["error"]) == (403, "secret_key_required")
        assert answer.json()["errors"][0]["field"] == "cart_token"
    line = {"ticket_type_id": str(FLOOR), "quantity": 1}
    items = {"session_id": str(SESSION), "items": [{"cart_item_id": "1", **line}]}
    assert world.call("PUT", "/api/carts/c/hold", secret=token, json=items).status_code == 201
    assert world.call("POST", "/api/checkouts", secret=token, json=label).status_code != 403


@pytest.mark.parametrize("is_limited", [True, False])
def test_a_limited_token_gets_no_hold_of_another_sale_by_repeating_its_request(
    world: World, is_limited: bool
) -> None:
    """A token without limits gets it: the control."""
    body, key = own_hold(hold_id=str(uuid4())), {"Idempotency-Key": "again"}
    first = world.call("POST", "/api/holds", secret=world.token(), json=body, headers=key)
    assert first.status_code == 201
    limits: dict[str, Any] = {"event_id": EventId(uuid4())} if is_limited else {}
    for headers in (key, {}):
        token = world.token(**limits)
        answer = world.call("POST", "/api/holds", secret=token, json=body, headers=headers)
        assert (answer.status_code == 400) == is_limited
        assert (first.json()["hold_id"] in answer.text) != is_limited


def test_nobody_can_take_an_id_that_holdfast_derives(world: World) -> None:
    derived = str(uuid5(uuid4(), "x"))
    for secret in (world.secret, world.token()):
        body = (own_hold if secret != world.secret else hold_body)(hold_id=derived)
        answer = world.call("POST", "/api/holds", secret=secret, json=body)
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "hold_id"


@pytest.mark.parametrize("missing", sorted(TOKEN_SCOPES))
def test_a_key_cannot_issue_tokens_with_scopes_that_it_lacks(world: World, missing: str) -> None:
    scopes = {*TOKEN_SCOPES, "tokens:write"}
    for given, status in ((scopes - {missing}, 403), (scopes, 201)):
        key = world.keys.new_key(*given)
        answer = world.call("POST", "/api/holder-tokens", secret=key, json={"user_id": "ada"})
        assert answer.status_code == status
        assert status == 201 or answer.json()["error"] == "scope_not_held"


def test_a_token_that_ended_long_ago_causes_no_lookup(world: World) -> None:
    """One that has just ended does: clocks differ. The control."""
    for seconds, questions in ((120, 0), (1, 1)):
        token = world.token(expires_at=datetime.now(UTC) - timedelta(seconds=seconds))
        assert world.call("GET", "/api/holds", secret=token).status_code == 401
        assert world.tokens.questions == questions


def test_the_audit_names_the_token(world: World) -> None:
    token = world.token()
    world.call("POST", "/api/holds", secret=token, json=own_hold())
    opened = world.box.opened(token.encode())
    assert opened is not None
    assert [each.origin.actor for each in world.store.audit] == [f"token:{opened.id}"]


def test_a_token_limited_to_another_sale_finds_nothing_here(world: World) -> None:
    for claims in ({"event_id": EventId(uuid4())}, {"session_id": SessionId(uuid4())}):
        token = world.token(**claims)
        answer = world.call("POST", "/api/holds", secret=token, json=own_hold())
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_session")
    held = world.call("POST", "/api/holds", secret=world.token(), json=own_hold()).json()
    for claims in ({"event_id": EventId(uuid4())}, {"session_id": SessionId(uuid4())}):
        token, path = world.token(**claims), f"/api/holds/{held['hold_id']}"
        assert world.call("GET", path, secret=token).status_code == 404
        assert world.call("POST", f"{path}/release", secret=token).status_code == 404
    assert world.call("POST", f"{path}/release", secret=world.token()).status_code == 200


def test_tokens_need_a_secret_of_the_installation(world: World) -> None:
    world.box._secrets = InstallationSecrets(())
    answer = world.call("POST", "/api/holder-tokens", json={"user_id": "ada"})
    assert (answer.status_code, answer.json()["error"]) == (503, "tokens_unavailable")
    assert "HOLDFAST_SECRET_KEY" in answer.json()["message"]


def test_a_token_is_for_one_event_or_one_session(world: World) -> None:
    body = {"user_id": "ada", "event_id": str(EVENT), "session_id": str(SESSION)}
    answer = world.call("POST", "/api/holder-tokens", json=body)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "session_id"
    for seconds in (0, 59, 86_401):
        body = {"user_id": "ada", "ttl_seconds": seconds}  # type: ignore[dict-item]
        assert world.call("POST", "/api/holder-tokens", json=body).status_code == 400


def allow(world: World, organization_id: OrganizationId = ORGANIZATION) -> None:
    world.tokens.origins[organization_id] = frozenset({PAGE})
    world.container.holders.origins.refresh()


def preflight(world: World, path: str, origin: str = PAGE) -> httpx.Response:
    headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    return world.call("OPTIONS", path, secret="", headers=headers)


def test_cors_is_off_by_default(world: World) -> None:
    assert preflight(world, "/api/holds").status_code == 403
    answer = world.call("GET", "/api/holds", secret=world.token(), headers={"Origin": PAGE})
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["vary"] == "origin"


def test_an_allowed_origin_may_call_with_a_token(world: World) -> None:
    allow(world)
    asked = preflight(world, "/api/holds")
    assert asked.status_code == 204
    assert asked.headers["access-control-allow-origin"] == PAGE
    assert asked.headers["access-control-allow-methods"] == "GET, POST"
    assert "authorization" in asked.headers["access-control-allow-headers"]
    assert "idempotency-key" in asked.headers["access-control-allow-headers"]
    # A token names its holder, so a page has no use for it.
    assert EMAIL_HEADER.lower() not in asked.headers["access-control-allow-headers"]
    assert asked.headers["vary"] == "origin"
    headers = {"Origin": PAGE}
    answer = world.call(
        "POST", "/api/holds", secret=world.token(), json=own_hold(), headers=headers
    )
    assert answer.status_code == 201
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert "x-request-id" in answer.headers["access-control-expose-headers"]
    for each in (asked, answer):
        assert "access-control-allow-credentials" not in each.headers


def test_a_page_learns_that_its_token_has_expired(world: World) -> None:
    allow(world)
    token = world.token(expires_at=datetime.now(UTC) - timedelta(seconds=1))
    answer = world.call("GET", "/api/holds", secret=token, headers={"Origin": PAGE})
    assert answer.status_code == 401
    assert answer.headers["access-control-allow-origin"] == PAGE


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://tickets.example.com."])
def test_another_origin_may_not(world: World, origin: str) -> None:
    allow(world)
    asked = preflight(world, "/api/holds", origin)
    assert (asked.status_code, asked.json()["error"]) == (403, "origin_not_allowed")
    answer = world.call("GET", "/api/holds", secret=world.token(), headers={"Origin": origin})
    for each in (asked, answer):
        assert "access-control-allow-origin" not in each.headers


def test_an_origin_of_another_organization_gets_no_answer(world: World) -> None:
    """The preflight cannot know whose token will follow; the response does."""
    allow(world, OrganizationId(uuid4()))
    assert preflight(world, "/api/holds").status_code == 204
    answer = world.call("GET", "/api/holds", secret=world.token(), headers={"Origin": PAGE})
    assert "access-control-allow-origin" not in answer.headers


def test_secret_keys_are_never_for_browsers(world: World) -> None:
    allow(world)
    for path in ("/api/holds", "/api/keys"):
        answer = world.call("GET", path, headers={"Origin": PAGE})
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers
    refused = preflight(world, "/api/keys")
    assert (refused.status_code, refused.json()["error"]) == (405, "method_not_allowed")


def test_a_live_token_is_not_a_test_token(world: World) -> None:
    token = world.token(mode=Mode.LIVE)
    assert token.startswith("ht_live_")
    assert world.box.opened(token.replace("ht_live_", "ht_test_").encode()) is None
