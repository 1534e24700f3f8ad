"""A client generated from the OpenAPI document works for every operation."""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from tests.support.people import PASSWORD, Staff, add_staff
from tests.support.platform import Json, Platform
from tests.support.servers import RunningServer

PACKAGE = "holdfast_client"
NOBODY = "nobody@example.com"
# CSV is sent unchanged, and code that only Python reads needs no formatting.
CONFIG = "content_type_overrides:\n  text/csv: application/octet-stream\npost_hooks: []\n"
GENERATION_SECONDS_MAX = 40


class GeneratedClient:
    """Calls operations by name and remembers them."""

    def __init__(self, platform: Platform, document: Json) -> None:
        self.package = importlib.import_module(PACKAGE)
        self.models = importlib.import_module(f"{PACKAGE}.models")
        self._base_url = platform.base_url
        self.authenticate(platform.secret_key)
        self._tags = {
            operation["operationId"]: operation["tags"][0].replace("-", "_")
            for path in document["paths"].values()
            for operation in path.values()
        }
        self.uncalled = set(self._tags)

    def authenticate(self, token: str) -> None:
        self._client = self.package.AuthenticatedClient(
            base_url=self._base_url,
            token=token,
            verify_ssl=False,
            raise_on_unexpected_status=True,
        )

    def __call__(self, name: str, *path: Any, body: Any = None, **query: Any) -> Any:
        module = importlib.import_module(f"{PACKAGE}.api.{self._tags[name]}.{name}")
        if isinstance(body, tuple):
            model, fields = body
            query["body"] = getattr(self.models, model).from_dict(fields)
        answer = module.sync_detailed(*path, client=self._client, **query)
        assert 200 <= answer.status_code < 300, (name, answer.content)
        assert answer.parsed is not None, name
        self.uncalled.discard(name)
        return answer.parsed


@pytest.fixture(scope="module")
def document(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Json]:
    """The document; the client generated from it is importable."""
    directory = tmp_path_factory.mktemp("client")
    text = httpx.get(f"{server.base_url}/api/schema", verify=False).text
    (directory / "document.json").write_text(text, encoding="utf-8")
    (directory / "config.yaml").write_text(CONFIG, encoding="utf-8")
    generate(directory)
    sys.path.insert(0, str(directory))
    yield json.loads(text)
    sys.path.remove(str(directory))
    for name in [each for each in sys.modules if each.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def generate(directory: Path) -> None:
    """Fail on warnings: each is a part of the document that the generator cannot use."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning"),
            *("--path", "document.json", "--config", "config.yaml"),
            *("--output-path", PACKAGE, "--meta", "none"),
        ],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=GENERATION_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def call(platform: Platform, document: Json) -> GeneratedClient:
    return GeneratedClient(platform, document)


def test_every_operation_works_with_the_generated_client(
    call: GeneratedClient, platform: Platform, server: RunningServer
) -> None:
    event_id, session_id, ticket_type_id = set_up_a_sale(call)
    block_id, seat_ids = set_up_a_hall(call, session_id)
    hold_tickets(call, event_id, session_id, ticket_type_id)
    hold_seats(call, event_id, session_id, seat_ids)
    fill_carts(call, session_id, ticket_type_id)
    pay(call, session_id, ticket_type_id)
    assert call("get_occupancy", event_id).sessions[0].blocks[0].block_id == block_id
    assert call("get_stats", session_id=session_id).active_holds > 0
    facts = call("list_facts", limit=2)
    assert (len(facts.data), facts.has_more) == (2, True)
    assert call("list_facts", cursor=facts.next_cursor).data[0].event_id != facts.data[0].event_id
    assert call("list_audit", action="hold.created").data[0].entry_id > 0
    manage_keys(call)
    issued = call("issue_token", body=("IssueTokenRequest", {"user_id": "user-1"}))
    assert issued.token.startswith("ht_test_")
    revoked = call("revoke_tokens", body=("RevokeTokensRequest", {"user_id": "user-1"}))
    assert revoked.revoked_at
    forgotten = call("forget_person", body=("ForgetRequest", {"customer_email": NOBODY}))
    assert (forgotten.holds, forgotten.is_complete) == (0, True)
    zone = ("ChangeOrganizationRequest", {"time_zone": "Europe/Berlin"})
    assert call("change_organization", body=zone).time_zone == "Europe/Berlin"
    assert call("get_organization").mode == "test"
    built_in = ("MailTextRequest", {"mail": "warning"})
    assert call("change_mail_text", body=built_in).is_built_in
    assert call("list_mail_texts").data[0].placeholders
    staff = add_staff(server.database_url, platform.organization_id, "owner")
    manage_members(call, platform, staff)
    assert call.uncalled == set()


def manage_members(call: GeneratedClient, platform: Platform, staff: Staff) -> None:
    new: Json = {"username": f"ann-{uuid4()}@example.com", "role": "viewer"}
    added = call("add_member", body=("AddMemberRequest", new))
    assert added.invitation_path.startswith("/admin/invitation/hi_")
    to_support = ("ChangeMemberRequest", {"role": "support"})
    assert call("change_member", added.member_id, body=to_support).role == "support"
    assert call("get_member", added.member_id).status == "invited"
    assert len(call("list_members").data) == 2
    assert call("remove_member", added.member_id).member_id == added.member_id
    credentials = {
        "organization_id": platform.organization_id,
        "username": staff.username,
        "password": PASSWORD,
    }
    session = call("sign_in", body=("SignInRequest", credentials))
    call.authenticate(session.session_token)
    assert call("sign_out").signed_out


def manage_keys(call: GeneratedClient) -> None:
    new: Json = {"name": "Scanner", "scopes": ["holds", "facts:read"]}
    issued = call("create_key", body=("CreateKeyRequest", new))
    assert issued.secret_key.startswith(issued.prefix)
    assert call("get_key", issued.key_id).status == "valid"
    assert len(call("list_keys", limit=1).data) == 1
    rotated = call("rotate_key", issued.key_id, body=("RotateKeyRequest", {"overlap_seconds": 60}))
    assert rotated.replaces == issued.key_id
    assert call("revoke_key", issued.key_id).status == "revoked"


def set_up_a_sale(call: GeneratedClient) -> tuple[UUID, UUID, UUID]:
    policy = {"ttl_seconds": 300}
    new: Json = {"name": "Gala", "currency": "EUR", "hold_policy": policy}
    event = call("create_event", body=("CreateEventRequest", new))
    changed = call("change_event", event.event_id, body=("ChangeEventRequest", {"name": "Ball"}))
    assert (changed.name, changed.hold_policy.ttl_seconds) == ("Ball", 300)
    assert call("get_event", event.event_id).event_id == event.event_id
    assert call("list_events", limit=1).data[0].event_id == event.event_id
    new = {"event_id": str(event.event_id), "name": "Friday", "starts_at": "2027-01-01T20:00:00Z"}
    session = call("create_session", body=("CreateSessionRequest", new))
    call("change_session", session.session_id, body=("ChangeSessionRequest", {"name": "Saturday"}))
    assert call("get_session", session.session_id).starts_at.year == 2027
    listed = call("list_sessions", event_id=event.event_id, starts_from=session.starts_at)
    assert [each.session_id for each in listed.data] == [session.session_id]
    new = {"session_id": str(session.session_id), "name": "Floor", "capacity": 90}
    pool = call("create_pool", body=("CreatePoolRequest", new))
    call("change_pool", pool.pool_id, body=("ChangePoolRequest", {"capacity": 100}))
    assert call("get_pool", pool.pool_id).capacity == 100
    assert len(call("list_pools", session_id=session.session_id).data) == 1
    new = {
        "session_id": str(session.session_id),
        "name": "Standing",
        "price": 4500,
        "pool_ids": [str(pool.pool_id)],
    }
    made = call("create_ticket_type", body=("CreateTicketTypeRequest", new))
    change = ("ChangeTicketTypeRequest", {"price": 5000})
    call("change_ticket_type", made.ticket_type_id, body=change)
    assert call("get_ticket_type", made.ticket_type_id).price == 5000
    assert len(call("list_ticket_types").data) == 1
    offered = call("get_availability", session.session_id).ticket_types[0]
    assert (offered.available, offered.price) == (100, 5000)
    return event.event_id, session.session_id, made.ticket_type_id


def set_up_a_hall(call: GeneratedClient, session_id: UUID) -> tuple[UUID, list[UUID]]:
    seated = {"session_id": str(session_id), "name": "Seat", "price": 6000, "is_seated": True}
    call("create_ticket_type", body=("CreateTicketTypeRequest", seated))
    new = {"session_id": str(session_id), "name": "Stalls"}
    block_id = call("create_block", body=("CreateBlockRequest", new)).block_id
    call("change_block", block_id, body=("ChangeBlockRequest", {"rank": 3}))
    assert call("get_block", block_id).rank == 3
    assert [each.block_id for each in call("list_blocks").data] == [block_id]
    layout = {"blocks": [{"name": "Stalls", "rows": ["A"], "seats_per_row": 6}]}
    imported = call("import_seats", session_id, body=("ImportSeatsRequest", layout))
    assert imported.seats_added == 6
    (row,) = call("get_seat_map", session_id).blocks[0].rows
    seat_ids = [UUID(row.seat_id_prefix + suffix) for suffix in row.seat_id_suffixes]
    named = {"seat_ids": [str(seat_ids[5])], "reason": "Camera"}
    blocked = call("block_seats", session_id, body=("BlockSeatsRequest", named))
    assert blocked.blocked_seat_ids == [seat_ids[5]]
    call("unblock_seats", session_id, body=("BlockSeatsRequest", named))
    return block_id, seat_ids


def hold_body(session_id: UUID, ticket_type_id: UUID) -> tuple[str, Json]:
    fields = {
        "session_id": str(session_id),
        "ticket_type_id": str(ticket_type_id),
        "quantity": 2,
        "customer_email": "user@example.com",
    }
    return "PlaceHoldRequest", fields


def hold_tickets(
    call: GeneratedClient, event_id: UUID, session_id: UUID, ticket_type_id: UUID
) -> None:
    body = hold_body(session_id, ticket_type_id)
    hold = call("place_hold", body=body, idempotency_key="once")
    again = call("place_hold", body=body, idempotency_key="once")
    assert (again.hold_id, hold.status, hold.lines[0].quantity) == (hold.hold_id, "active", 2)
    longer = call("extend_hold", hold.hold_id, body=("ExtendHoldRequest", {"minutes": 1}))
    assert longer.expires_at > hold.expires_at
    assert call("get_hold", hold.hold_id).version == longer.version
    (listed,) = call("list_holds", event_id=event_id, status=call.models.HoldStatus.ACTIVE).data
    assert listed.hold_id == hold.hold_id
    assert call("release_hold", hold.hold_id).status == "cancelled"
    other = call("place_hold", body=body)
    assert call("delete_hold", other.hold_id).status == "cancelled"


def hold_seats(
    call: GeneratedClient, event_id: UUID, session_id: UUID, seat_ids: list[UUID]
) -> None:
    holder = {"user_id": "ada"}
    reserved = call("reserve_seat", event_id, seat_ids[0], body=("ReserveRequest", holder)).data
    assert (reserved.seat_number, reserved.status) == ("1", "held")
    seat = call("get_seat", event_id, seat_ids[0], user_id="ada")
    assert (seat.hold_id, seat.status) == (reserved.hold_id, "held")
    named = {"session_id": str(session_id), "seat_ids": [str(seat_ids[2])], "user_id": "bob"}
    assert call("place_hold", body=("PlaceHoldRequest", named)).seat_ids == [seat_ids[2]]


def fill_carts(call: GeneratedClient, session_id: UUID, ticket_type_id: UUID) -> None:
    item = {"cart_item_id": "item-1", "ticket_type_id": str(ticket_type_id), "quantity": 1}
    full = {"session_id": str(session_id), "user_id": "ada", "items": [item]}
    hold = call("fill_cart", "basket", body=("FillCartRequest", full))
    assert (hold.cart_token, hold.lines[0].cart_item_id) == ("basket", "item-1")
    renewed = call("renew_cart", "basket", body=("RenewCartRequest", {"user_id": "ada"}))
    assert renewed.hold_id == call("get_cart", "basket").hold_id == hold.hold_id
    assert call("empty_cart", "basket").released_hold_id == hold.hold_id


def pay(call: GeneratedClient, session_id: UUID, ticket_type_id: UUID) -> None:
    body = hold_body(session_id, ticket_type_id)
    hold = call("place_hold", body=body)
    paid = call("confirm_hold", hold.hold_id, body=("ConfirmHoldRequest", {}))
    assert (paid.status, len(paid.order.tickets)) == ("converted", 2)
    other = call("place_hold", body=body)
    chosen = {"hold_ids": [str(other.hold_id)]}
    checkout = call("start_checkout", body=("StartCheckoutRequest", chosen))
    assert call("get_checkout", checkout.checkout_id).total == 2 * 5000
    payment = ("CompleteCheckoutRequest", {"payment_reference": "pay-1"})
    order = call("complete_checkout", checkout.checkout_id, body=payment)
    assert call("get_order", order.order_id).tickets[0].code == order.tickets[0].code
    found = call("list_orders", x_customer_email="user@example.com", session_id=session_id).data
    assert [each.order_id for each in found] == [order.order_id, paid.order.order_id]
    wrong = {"reason": "Bought too many", "ticket_ids": [str(order.tickets[0].ticket_id)]}
    partly = call("cancel_order", order.order_id, body=("CancelOrderRequest", wrong))
    assert (partly.status, partly.tickets[0].status) == ("partly_cancelled", "void")
    refund = ("RecordRefundRequest", {"refund_reference": "re_1"})
    refunded = call("record_refund", order.order_id, body=refund)
    assert refunded.tickets[0].refund_reference == "re_1"
    code = order.tickets[1].code
    assert call("list_orders", x_ticket_code=code).data[0].tickets[1].status == "valid"


def test_the_client_reads_a_refusal_as_a_problem(platform: Platform, call: GeneratedClient) -> None:
    module = importlib.import_module(f"{PACKAGE}.api.holds.get_hold")
    client = call.package.AuthenticatedClient(
        base_url=platform.base_url, token=platform.secret_key, verify_ssl=False
    )
    answer = module.sync_detailed(UUID(int=0), client=client)
    assert (answer.status_code, answer.parsed.error) == (404, "hold_not_found")
