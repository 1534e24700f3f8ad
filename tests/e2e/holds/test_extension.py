"""Extending a hold: by its holder within the policy, by an operator beyond it."""

from uuid import uuid4

import pytest

from tests.e2e.answers import first_error, moment, problem_of, seconds_between
from tests.e2e.owner import Owner
from tests.e2e.paying import checked_out, extended, held, hold_now, keyed, ok, post, read
from tests.support.platform import Platform, new_platform
from tests.support.servers import RunningServer

TTL_SECONDS = 600
LIFETIME_SECONDS = 1200


@pytest.mark.parametrize("body", [{"minutes": 5}, {"seconds": 300}])
def test_an_extension_adds_the_requested_minutes(
    platform: Platform, owner: Owner, body: dict[str, int]
) -> None:
    hold = held(platform, platform.on_sale(5), 2)
    longer = ok(extended(platform, hold, **body))
    assert seconds_between(hold["expires_at"], longer["expires_at"]) == 300
    assert (longer["status"], longer["version"]) == ("active", hold["version"] + 1)
    assert 890 <= longer["expires_in_seconds"] <= 901
    assert hold_now(platform, hold)["expires_at"] == longer["expires_at"]
    kinds = [kind for kind, _ in owner.facts(hold["hold_id"])]
    assert kinds == ["hold.created", "hold.extended"]
    _, payload = owner.facts(hold["hold_id"])[-1]
    assert payload["expires_at"] == longer["expires_at"]
    assert payload["previous_expires_at"] == hold["expires_at"]


def test_an_extended_hold_keeps_its_places_longer(
    unreaped: Platform, unreaped_owner: Owner
) -> None:
    sale = unreaped.on_sale(2)
    hold = held(unreaped, sale, 2)
    ok(extended(unreaped, hold, minutes=5))
    unreaped_owner.let_pass(unreaped.organization_id, TTL_SECONDS + 60)
    assert hold_now(unreaped, hold)["status"] == "active"
    assert unreaped.available(sale) == [0]
    problem_of(unreaped.place(sale), 409, "insufficient_inventory")
    unreaped_owner.let_pass(unreaped.organization_id, 300)
    assert hold_now(unreaped, hold)["status"] == "expired"
    assert unreaped.available(sale) == [2]
    assert unreaped.place(sale).status_code == 201


def test_no_extension_exceeds_the_maximum_lifetime(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5))
    longer = ok(extended(platform, hold, minutes=60))
    lives = seconds_between(hold["created_at"], longer["expires_at"])
    assert LIFETIME_SECONDS <= lives < LIFETIME_SECONDS + 1
    problem = problem_of(extended(platform, hold, minutes=1), 409, "extension_limit_reached")
    assert problem["expires_at"] == longer["expires_at"]
    assert hold_now(platform, hold)["expires_at"] == longer["expires_at"]


def test_an_extension_never_shortens_a_hold(platform: Platform) -> None:
    """Even when the maximum lifetime shrank after the hold was made."""
    sale = platform.on_sale(5)
    hold = held(platform, sale)
    policy = {"hold_policy": {"ttl_seconds": 60, "lifetime_max_seconds": 60}}
    ok(platform.client.patch(f"/api/events/{sale.event_id}", json=policy))
    problem_of(extended(platform, hold, minutes=1), 409, "extension_limit_reached")
    assert hold_now(platform, hold)["expires_at"] == hold["expires_at"]


def test_a_ttl_above_the_maximum_lifetime_is_refused(platform: Platform) -> None:
    sale = platform.on_sale(5)
    event, ticket_type = (
        f"/api/events/{sale.event_id}",
        f"/api/ticket-types/{sale.ticket_type_id}",
    )
    policy = {"ttl_seconds": 900, "lifetime_max_seconds": 600}
    names = {"name": "Gala", "currency": "EUR"}
    seats = {"name": "Floor", "session_id": sale.session_id, "price": 1, "capacity": 1}
    answers = [
        platform.client.post("/api/events", json=names | {"hold_policy": policy}),
        platform.client.post("/api/ticket-types", json=seats | {"hold_policy": policy}),
    ]
    for path in (event, ticket_type):
        ok(platform.client.patch(path, json={"hold_policy": {"lifetime_max_seconds": 600}}))
        answers.append(platform.client.patch(path, json={"hold_policy": {"ttl_seconds": 900}}))
    for answer in answers:
        problem = problem_of(answer, 400, "invalid_policy")
        assert problem["message"] == "ttl_seconds must not exceed lifetime_max_seconds"
        assert [error["field"] for error in problem["errors"]] == ["hold_policy.ttl_seconds"]
    for path in (event, ticket_type):
        assert read(platform, path)["hold_policy"].get("ttl_seconds") is None
        ok(platform.client.patch(path, json={"hold_policy": policy | {"ttl_seconds": 600}}))


def test_a_maximum_lifetime_below_the_ttl_is_raised_to_it(platform: Platform) -> None:
    sale = platform.on_sale(5, hold_policy={"ttl_seconds": 1800})
    policy = {"hold_policy": {"lifetime_max_seconds": 600}}
    ok(platform.client.patch(f"/api/events/{sale.event_id}", json=policy))
    hold = held(platform, sale)
    checkout = ok(checked_out(platform, hold), 201)
    assert seconds_between(hold["expires_at"], checkout["expires_at"]) == 300
    problem_of(extended(platform, hold, minutes=1), 409, "extension_limit_reached")


def test_an_operator_can_extend_beyond_the_policy(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5))
    longer = ok(extended(platform, hold, minutes=60, as_operator=True))
    assert seconds_between(hold["expires_at"], longer["expires_at"]) == 3600
    # The holder's next extension is refused, and shortens nothing.
    problem_of(extended(platform, hold, minutes=1), 409, "extension_limit_reached")
    assert hold_now(platform, hold)["expires_at"] == longer["expires_at"]


def test_an_operator_extension_needs_the_operator_scope(server: RunningServer) -> None:
    scopes = ("holds:read", "holds:write", "catalog:read", "catalog:write")
    clerk = new_platform(server.base_url, server.database_url, scopes)
    hold = held(clerk, clerk.on_sale(5))
    answer = extended(clerk, hold, minutes=60, as_operator=True)
    problem_of(answer, 403, "insufficient_scope")
    assert 'scope="holds:operate"' in answer.headers["www-authenticate"]
    assert hold_now(clerk, hold)["version"] == hold["version"]
    assert ok(extended(clerk, hold, minutes=5, as_operator=False))["version"] == hold["version"] + 1


def test_only_the_holder_can_extend_a_hold(platform: Platform) -> None:
    sale = platform.on_sale(5)
    hold = held(platform, sale, customer_email="ada@example.com")
    for stranger in ({"customer_email": "bob@example.com"}, {"user_id": "ada"}):
        problem_of(extended(platform, hold, minutes=5, **stranger), 404, "hold_not_found")
    assert hold_now(platform, hold)["version"] == hold["version"]
    assert extended(platform, hold, minutes=1, customer_email="Ada@Example.com").status_code == 200
    of_user = held(platform, sale, user_id="u-1", customer_email="ada@example.com")
    problem_of(extended(platform, of_user, minutes=5, user_id="u-2"), 404, "hold_not_found")
    assert extended(platform, of_user, minutes=1, user_id="u-1").status_code == 200


def test_a_hold_of_another_organization_is_not_found(
    platform: Platform, neighbour: Platform
) -> None:
    hold = held(platform, platform.on_sale(5))
    foreign = extended(neighbour, hold, minutes=5, as_operator=True)
    problem_of(foreign, 404, "hold_not_found")
    unknown = post(neighbour, f"/api/holds/{uuid4()}/extend", {"minutes": 5})
    assert foreign.json() | {"request_id": ""} == unknown.json() | {"request_id": ""}
    assert hold_now(platform, hold)["version"] == hold["version"]


def test_an_ended_hold_is_not_extended(unreaped: Platform, unreaped_owner: Owner) -> None:
    sale = unreaped.on_sale(5)
    lapsed, released = held(unreaped, sale), held(unreaped, sale)
    ok(unreaped.client.post(f"/api/holds/{released['hold_id']}/release"))
    unreaped_owner.let_pass(unreaped.organization_id, TTL_SECONDS + 1)
    problem = problem_of(extended(unreaped, lapsed, minutes=5), 409, "hold_expired")
    assert problem["message"] == "The hold has expired"
    # Not even an operator can revive it: its places may be taken.
    problem_of(extended(unreaped, lapsed, minutes=5, as_operator=True), 409, "hold_expired")
    problem = problem_of(extended(unreaped, released, minutes=5), 409, "invalid_hold_state")
    assert problem["current_status"] == "cancelled"


def test_a_repeated_key_extends_once_and_replays_byte_for_byte(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5))
    path, key = f"/api/holds/{hold['hold_id']}/extend", keyed()
    first, again = (post(platform, path, {"minutes": 5}, key) for _ in range(2))
    assert first.status_code == again.status_code == 200
    assert first.content == again.content
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert hold_now(platform, hold)["version"] == hold["version"] + 1
    problem_of(post(platform, path, {"minutes": 6}, key), 422, "idempotency_key_reused")


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({}, "minutes", "required"),
        ({"minutes": None}, "minutes", "required"),
        ({"minutes": 5, "seconds": 300}, "seconds", "conflicting_fields"),
        ({"minutes": 0}, "minutes", "invalid_value"),
        ({"minutes": -5}, "minutes", "invalid_value"),
        ({"minutes": 10081}, "minutes", "invalid_value"),
        ({"minutes": 1.5}, "minutes", "invalid_value"),
        ({"minutes": "5"}, "minutes", "invalid_value"),
        ({"minutes": True}, "minutes", "invalid_value"),
        ({"seconds": 0}, "seconds", "invalid_value"),
        ({"seconds": 604801}, "seconds", "invalid_value"),
        ({"seconds": 10**30}, "seconds", "invalid_value"),
        ({"minutes": 5, "as_operator": "yes"}, "as_operator", "invalid_value"),
        ({"minutes": 5, "customer_email": "nobody"}, "customer_email", "invalid_email"),
        ({"minutes": 5, "user_id": ""}, "user_id", "invalid_user_id"),
        ({"minutes": 5, "until": "2030-01-01"}, "body", "unknown_field"),
    ],
)
def test_errors_name_the_bad_field_and_nothing_changes(
    platform: Platform, body: dict[str, object], field: str, code: str
) -> None:
    hold = held(platform, platform.on_sale(5))
    assert first_error(extended(platform, hold, **body)) == (field, code)
    assert hold_now(platform, hold)["version"] == hold["version"]


def test_the_expiry_is_a_whole_second(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5))
    for seconds in (7, 1, 13):
        hold = ok(extended(platform, hold, seconds=seconds))
        assert moment(hold["expires_at"]).microsecond == 0
