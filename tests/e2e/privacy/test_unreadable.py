"""An address that cannot be opened fails the requests that need it, and nothing else."""

import pytest

from tests.e2e.answers import problem_of
from tests.e2e.owner import Owner
from tests.e2e.paying import confirmed, held, hold_now, ok, read
from tests.support.patience import wait_until
from tests.support.platform import Json, Platform
from tests.support.servers import RunningServer

AGES = 601
WAITLIST = {"waitlist": True}
# The last byte is of the tag; the second one is of the secret's id.
DAMAGES = {
    "a bad tag": "set_byte(customer_email, length(customer_email) - 1,"
    " 255 - get_byte(customer_email, length(customer_email) - 1))",
    "a missing secret": "set_byte(customer_email, 1, 255 - get_byte(customer_email, 1))",
}


@pytest.fixture(params=DAMAGES.values(), ids=list(DAMAGES))
def damage(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def damaged(owner: Owner, hold: Json, damage: str) -> bytes:
    owner.run(f"UPDATE hold SET customer_email = {damage} WHERE id = %s", hold["hold_id"])
    # No process may have it in memory.
    owner.run(
        "UPDATE waitlist w SET version = NULL FROM hold h"
        " WHERE h.id = %s AND w.session_id = h.session_id",
        hold["hold_id"],
    )
    return stored(owner, hold)


def stored(owner: Owner, hold: Json) -> bytes:
    query = "SELECT customer_email, email_key FROM hold WHERE id = %s"
    ((sealed, key),) = owner.rows(query, hold["hold_id"])
    assert key is not None
    return bytes(sealed)


def released(platform: Platform, hold: Json) -> Json:
    return ok(platform.client.post(f"/api/holds/{hold['hold_id']}/release"))


def test_it_expires_with_the_other_holds_of_its_session(
    platform: Platform, owner: Owner, damage: str
) -> None:
    sale = platform.on_sale(5)
    holds = [held(platform, sale) for _ in range(3)]
    sealed = damaged(owner, holds[1], damage)
    owner.let_pass(platform.organization_id, AGES)

    def are_expired() -> bool:
        return all(owner.facts(hold["hold_id"])[-1][0] == "hold.expired" for hold in holds)

    wait_until(are_expired, "all of them have expired")
    assert platform.available(sale) == [5]
    assert stored(owner, holds[1]) == sealed
    owner.assert_counters_add_up(platform.organization_id)


def test_a_new_hold_gets_its_room(unreaped: Platform, unreaped_owner: Owner, damage: str) -> None:
    sale = unreaped.on_sale(1)
    damaged(unreaped_owner, held(unreaped, sale), damage)
    unreaped_owner.let_pass(unreaped.organization_id, AGES)
    held(unreaped, sale)


def test_the_waitlist_goes_on(platform: Platform, owner: Owner, damage: str) -> None:
    """Even if it is the first in line, and its places are seats, which know their holder."""
    hall = platform.hall(1, 2, hold_policy=WAITLIST)

    def best() -> Json:
        body = {"session_id": hall.session_id, "ticket_type_id": hall.ticket_type_id}
        sent = body | {"quantity": 2, "customer_email": "ada@example.com"}
        answer = platform.client.post("/api/holds", json=sent)
        return ok(answer, answer.status_code)

    first, second, third = best(), best(), best()
    assert (second["position"], third["position"]) == (1, 2)
    sealed = damaged(owner, second, damage)
    released(platform, first)
    assert hold_now(platform, second)["status"] == "active"
    assert stored(owner, second) == sealed
    released(platform, second)
    assert hold_now(platform, third)["status"] == "active"
    owner.assert_counters_add_up(platform.organization_id)


def test_an_order_is_shown_without_an_unreadable_attendee(
    platform: Platform, owner: Owner, damage: str
) -> None:
    attendees = {"attendees": [{"name": "Ada"}, {"name": "Grace"}]}
    hold = held(platform, platform.on_sale(5), 2)
    order = ok(confirmed(platform, hold, **attendees))["order"]
    first, second = order["tickets"]
    owner.run(
        f"UPDATE ticket SET attendee = {damage.replace('customer_email', 'attendee')}"
        " WHERE id = %s",
        first["ticket_id"],
    )
    seen = read(platform, f"/api/orders/{order['order_id']}")
    names = {each["ticket_id"]: each.get("attendee_name") for each in seen["tickets"]}
    assert names == {first["ticket_id"]: None, second["ticket_id"]: second["attendee_name"]}
    assert len(read(platform, "/api/orders")["data"]) == 1


def test_only_requests_that_need_it_fail_and_the_log_says_why(
    platform: Platform, owner: Owner, server: RunningServer, damage: str
) -> None:
    sale = platform.on_sale(5)
    hold = held(platform, sale, customer_email="ada@example.com")
    damaged(owner, hold, damage)
    assert hold_now(platform, hold)["status"] == "active"
    listed = read(platform, "/api/holds", customer_email="ada@example.com")["data"]
    assert [each["hold_id"] for each in listed] == [hold["hold_id"]]
    problem_of(confirmed(platform, hold), 500, "internal_error")
    buyer = platform.buyer(customer_email="ada@example.com")
    own = buyer.get(f"/api/holds/{hold['hold_id']}")
    problem_of(own, 500, "internal_error")
    assert "HOLDFAST_SECRET_KEY_FALLBACKS lacks a secret" in server.log.read_text()
    ok(confirmed(platform, held(platform, sale)))
    released(platform, hold)
