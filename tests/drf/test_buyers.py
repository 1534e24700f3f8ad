"""What logged-in users of the project may do, and what is refused, in both modes."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.drf.shops import RunningShop
from tests.e2e.answers import first_error, placed, problem_of
from tests.support.platform import Json, Platform, new_platform, sent

JSON = "application/json"


@pytest.fixture(params=["shop", "shop_of_server"])
def either(request: pytest.FixtureRequest) -> RunningShop:
    found: RunningShop = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def ada(either: RunningShop) -> Iterator[httpx.Client]:
    with either.known_buyer("ada") as client:
        yield client


@pytest.fixture
def grace(either: RunningShop) -> Iterator[httpx.Client]:
    with either.known_buyer("grace") as client:
        yield client


def wanted(shop: RunningShop, **more: object) -> Json:
    """One of the many tickets, for whoever asks."""
    sale = shop.sale
    body = {"session_id": sale.session_id, "ticket_type_id": sale.ticket_type_id, "quantity": 1}
    return body | more


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def held(platform: Platform, shop: RunningShop) -> int:
    path = f"/api/sessions/{shop.sale.session_id}/availability"
    return int(platform.client.get(path).json()["ticket_types"][0]["held"])


def test_a_user_sees_and_releases_only_their_own_holds(
    either: RunningShop, ada: httpx.Client, grace: httpx.Client
) -> None:
    hold = placed(ada.post("/api/holds", json=wanted(either)))
    path = f"/api/holds/{hold['hold_id']}"
    assert ada.get(path).json()["hold_id"] == hold["hold_id"]
    for method, there in (
        ("GET", path),
        ("DELETE", path),
        ("POST", f"{path}/release"),
    ):
        problem_of(grace.request(method, there), 404, "hold_not_found")
    problem_of(grace.post(f"{path}/extend", json={"minutes": 1}), 404, "hold_not_found")
    listed = [each["hold_id"] for each in grace.get("/api/holds").json()["data"]]
    assert hold["hold_id"] not in listed
    assert ada.post(f"{path}/release").json()["status"] == "cancelled"


def test_the_holder_is_the_projects_user(either: RunningShop, ada: httpx.Client) -> None:
    """The server finds the hold by the primary key and by the address."""
    hold = placed(ada.post("/api/holds", json=wanted(either)))
    server = either.platform.client
    for query in (sent(user_id="1"), sent(customer_email="ada@example.com")):
        found = server.get("/api/holds", **query).json()["data"]
        assert hold["hold_id"] in [each["hold_id"] for each in found]
    assert ada.delete(f"/api/holds/{hold['hold_id']}").status_code == 200


@pytest.mark.parametrize("field", ["user_id", "customer_email"])
def test_a_user_cannot_hold_for_somebody_else(
    either: RunningShop, ada: httpx.Client, field: str
) -> None:
    body = wanted(either, **{field: "other@example.com"})
    problem_of(ada.post("/api/holds", json=body), 400, "holder_from_token")


def test_a_user_cannot_say_that_they_have_paid(either: RunningShop, ada: httpx.Client) -> None:
    hold = placed(ada.post("/api/holds", json=wanted(either)))
    path = f"/api/holds/{hold['hold_id']}"
    problem_of(ada.post(f"{path}/confirm", json={}), 403, "secret_key_required")
    checkout = ada.post("/api/checkouts", json={"hold_ids": [hold["hold_id"]]}).json()
    paid = ada.post(
        f"/api/checkouts/{checkout['checkout_id']}/complete", json={"payment_reference": "mine"}
    )
    problem_of(paid, 403, "secret_key_required")
    assert ada.delete(path).json()["status"] == "cancelled"


def test_a_change_without_a_csrf_token_is_refused(either: RunningShop, ada: httpx.Client) -> None:
    before = held(either.platform, either)
    del ada.headers["X-CSRFToken"]
    problem = problem_of(ada.post("/api/holds", json=wanted(either)), 403, "csrf_failed")
    assert "X-CSRFToken" in problem["message"]
    assert held(either.platform, either) == before
    assert ada.get("/api/holds").status_code == 200, "reading needs none"


def test_a_key_needs_no_csrf_token(either: RunningShop, ada: httpx.Client) -> None:
    """And wins over a session: no browser sends a key by itself."""
    del ada.headers["X-CSRFToken"]
    body = wanted(either, user_id="of the key")
    answer = ada.post("/api/holds", json=body, headers=bearer(either.platform.secret_key))
    hold = placed(answer)
    problem_of(ada.get(f"/api/holds/{hold['hold_id']}"), 404, "hold_not_found")


@pytest.mark.parametrize(
    "secret", ["hk_test_thisIsNoKeyOfAnybody", "hk_live_", "ht_test_forged", "hs_session", "basic"]
)
def test_a_wrong_credential_is_refused_before_its_body(either: RunningShop, secret: str) -> None:
    answer = httpx.post(f"{either.base_url}/api/holds", content=b"{", headers=bearer(secret))
    problem_of(answer, 401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith('Bearer realm="holdfast"')
    assert answer.headers["cache-control"] == "no-store"


def test_a_stranger_is_refused(either: RunningShop) -> None:
    problem_of(httpx.get(f"{either.base_url}/api/holds"), 401, "unauthorized")
    problem_of(httpx.post(f"{either.base_url}/api/holds", json={}), 401, "unauthorized")


def test_a_key_without_the_scope_is_refused(either: RunningShop) -> None:
    platform = new_platform(
        either.platform.base_url, either.platform_database, scopes=("holds:read",)
    )
    key = bearer(platform.secret_key)
    body = wanted(either, user_id="u")
    answer = httpx.post(f"{either.base_url}/api/holds", json=body, headers=key)
    problem_of(answer, 403, "insufficient_scope")
    assert httpx.get(f"{either.base_url}/api/holds", headers=key).json()["data"] == []


def test_a_holder_token_works_as_it_does_at_the_api(either: RunningShop) -> None:
    token = bearer(either.platform.token(user_id="with a token"))
    answer = httpx.post(f"{either.base_url}/api/holds", json=wanted(either), headers=token)
    path = f"/api/holds/{placed(answer)['hold_id']}"
    assert httpx.delete(either.base_url + path, headers=token).json()["status"] == "cancelled"


BODIES = [
    pytest.param(b'{"session_id": ', "malformed_json", id="cut off"),
    pytest.param(b"[" * 5000, "malformed_json", id="deep"),
    pytest.param(b"\xff\xfe", "malformed_json", id="not UTF-8"),
    pytest.param(b'{"notes": "a\\u0000b"}', "invalid_characters", id="control character"),
    pytest.param(b"[]", "validation_error", id="a list"),
    pytest.param(b"1e999", "validation_error", id="a number"),
]


@pytest.mark.parametrize(("body", "code"), BODIES)
def test_a_strange_body_is_refused(shop: RunningShop, body: bytes, code: str) -> None:
    headers = bearer(shop.platform.secret_key) | {"Content-Type": JSON}
    answer = httpx.post(f"{shop.base_url}/api/holds", content=body, headers=headers)
    assert answer.json()["error"] == code
    assert answer.status_code == 400
    at_the_api = shop.platform.client.post("/api/holds", content=body, headers=headers).json()
    same = {name: value for name, value in answer.json().items() if name != "request_id"}
    assert same == {name: value for name, value in at_the_api.items() if name != "request_id"}


def test_a_repeated_field_is_refused(shop: RunningShop, ada_here: httpx.Client) -> None:
    """Two readers could see two requests."""
    body = json.dumps(wanted(shop))
    twice = body.replace('"quantity": 1', '"quantity": 1, "quantity": 2')
    answer = ada_here.post("/api/holds", content=twice, headers={"Content-Type": JSON})
    assert first_error(answer) == ("body", "duplicate")


def test_an_unknown_field_is_named_by_none_of_its_letters(
    shop: RunningShop, ada_here: httpx.Client
) -> None:
    answer = ada_here.post("/api/holds", json=wanted(shop, discount="<script>"))
    assert first_error(answer) == ("body", "unknown_field")
    assert "discount" not in answer.text.replace("unknown field; known", "")
    assert "script" not in answer.text


@pytest.fixture
def ada_here(shop: RunningShop) -> Iterator[httpx.Client]:
    with shop.known_buyer("ada") as client:
        yield client


def test_an_oversize_body_is_refused(shop: RunningShop, ada_here: httpx.Client) -> None:
    body = wanted(shop, source="x" * 70_000)
    problem_of(ada_here.post("/api/holds", json=body), 413, "body_too_large")


def test_a_body_of_another_kind_is_refused(shop: RunningShop, ada_here: httpx.Client) -> None:
    for headers in (
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/json; charset=x"},
    ):
        answer = ada_here.post("/api/holds", content=b"{}", headers=headers)
        problem_of(answer, 415, "unsupported_media_type")
    problem_of(ada_here.post("/api/holds", data={"quantity": 1}), 415, "unsupported_media_type")


def test_an_unknown_method_is_refused(ada_here: httpx.Client) -> None:
    answer = ada_here.patch("/api/holds")
    problem_of(answer, 405, "method_not_allowed")
    assert {"GET", "POST"} <= set(answer.headers["allow"].split(", "))


def test_a_revoked_token_is_replaced(either: RunningShop, ada: httpx.Client) -> None:
    """A user stays logged in when their tokens are revoked: ending the session is the project's."""
    assert ada.get("/api/holds").status_code == 200
    revoked = either.platform.client.post("/api/holder-tokens/revoke", json={"user_id": "1"})
    assert revoked.status_code == 200, revoked.text
    assert ada.get("/api/holds").status_code == 200


def test_the_request_id_is_one_for_shop_and_engine(either: RunningShop, ada: httpx.Client) -> None:
    headers = {"X-Request-ID": "from-the-browser"}
    answer = ada.post("/api/holds", json=wanted(either, quantity=-1), headers=headers)
    assert problem_of(answer, 400, "invalid_quantity")["request_id"] == "from-the-browser"
    refused = ada.post("/api/holds", json=wanted(either, quantity=9_999), headers=headers)
    assert problem_of(refused, 409, "insufficient_inventory")["request_id"] == "from-the-browser"


def test_several_can_read_the_schema_at_once(shop: RunningShop) -> None:
    with ThreadPoolExecutor(4) as threads:
        url = f"{shop.base_url}/api/schema"
        answers = list(threads.map(lambda _: httpx.get(url, timeout=60), range(12)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1


def test_the_schema_has_every_route_and_no_warning(shop: RunningShop, tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    options = ("--validate", "--fail-on-warn", "--format", "openapi-json", "--file", str(file))
    assert shop.manage("spectacular", *options).wait() == 0, shop.log
    document = json.loads(file.read_text())
    operations = {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert set(operations) == {
        "GET /api/holds",
        "POST /api/holds",
        "GET /api/holds/{hold_id}",
        "DELETE /api/holds/{hold_id}",
        "POST /api/holds/{hold_id}/release",
        "POST /api/holds/{hold_id}/extend",
        "POST /api/holds/{hold_id}/confirm",
        "GET /api/carts/{cart_token}/hold",
        "PUT /api/carts/{cart_token}/hold",
        "DELETE /api/carts/{cart_token}/hold",
        "POST /api/carts/{cart_token}/hold/renew",
        "POST /api/checkouts",
        "GET /api/checkouts/{checkout_id}",
        "POST /api/checkouts/{checkout_id}/complete",
        "GET /api/orders",
        "GET /api/orders/{order_id}",
        "GET /api/sessions/{session_id}/availability",
    }
    placing = operations["POST /api/holds"]
    assert {"200", "201", "202", "400", "401", "403", "409", "413", "503"} <= set(
        placing["responses"]
    )
    assert "insufficient_inventory" in placing["responses"]["409"]["description"]
    schemas = document["components"]["schemas"]
    assert schemas["PlaceHold"]["properties"]["quantity"]["maximum"] == 10_000
    assert schemas["PlaceHold"]["required"] == ["session_id"]
    assert {"hold_id", "status", "expires_at", "expires_in_seconds"} <= set(
        schemas["Hold"]["required"]
    )
