"""Holds over HTTP, and idempotent repetition."""

from concurrent.futures import Future
from dataclasses import replace
from uuid import uuid4

import pytest

from holdfast.domain import refusals
from holdfast.domain.group.command import Command
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.app import create_api
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.problems import Problem
from holdfast.ports.engine import Answer, Deliver, Render
from holdfast.services.idempotency.seal import Seal
from tests.api.world import BALCONY, FLOOR, SESSION, UNKNOWN, World
from tests.support.platform import sent


def test_the_answer_starts_with_the_fields_of_the_specification(world: World) -> None:
    answer = world.place()
    assert answer.status_code == 201
    hold = answer.json()
    assert list(hold)[:7] == [
        "hold_id",
        "session_id",
        "ticket_type_id",
        "quantity",
        "status",
        "expires_at",
        "created_at",
    ]
    assert (hold["session_id"], hold["ticket_type_id"]) == (str(SESSION), str(FLOOR))
    assert (hold["quantity"], hold["status"], hold["version"]) == (2, "active", 1)
    assert hold["expires_at"].endswith("Z")
    assert hold["created_at"].endswith("Z")
    assert 599 <= hold["expires_in_seconds"] <= 601
    assert (hold["total"], hold["currency"]) == (9000, "EUR")
    assert "example.com" not in answer.text


def test_several_lines_have_no_single_ticket_type(world: World) -> None:
    line = {"ticket_type_id": str(FLOOR), "quantity": 2}
    hold = world.place(
        ticket_type_id=None, quantity=None, lines=[line, {**line, "unit_price": 100}]
    ).json()
    assert (hold["quantity"], hold["total"]) == (4, 9200)
    assert [line["subtotal"] for line in hold["lines"]] == [9000, 200]


def test_a_hold_can_be_read_listed_and_released_once(world: World) -> None:
    email = f"{uuid4().hex}@example.com"
    placed = world.place(customer_email=email).json()
    path = f"/api/holds/{placed['hold_id']}"
    assert world.call("GET", path).json()["reference"] == placed["reference"]
    page = world.call("GET", "/api/holds", **sent(customer_email=email.upper(), status="active"))
    assert [hold["hold_id"] for hold in page.json()["data"]] == [placed["hold_id"]]
    released = world.call("POST", f"{path}/release")
    assert (released.status_code, released.json()["status"]) == (200, "cancelled")
    again = world.call("POST", f"{path}/release")
    assert (again.status_code, again.json()["error"]) == (409, "invalid_hold_state")
    assert again.json()["current_status"] == "cancelled"


def test_too_few_left_reports_how_many(world: World) -> None:
    answer = world.place(ticket_type_id=str(BALCONY), quantity=5)
    assert answer.status_code == 409
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["error"] == "insufficient_inventory"
    assert problem["message"] == problem["detail"] == "Only 1 ticket(s) available"
    assert problem["available_quantity"] == 1
    assert problem["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"session_id": str(UNKNOWN)}, "invalid_session", "Session not found"),
        ({"ticket_type_id": str(UNKNOWN)}, "invalid_ticket_type", "Ticket type not found"),
    ],
)
def test_an_unknown_id_in_a_body_is_400(
    world: World, change: dict[str, str], error: str, message: str
) -> None:
    answer = world.place(**change)
    problem = answer.json()
    assert (answer.status_code, problem["error"], problem["message"]) == (400, error, message)


def test_the_same_key_and_request_replay_the_first_answer_byte_for_byte(world: World) -> None:
    headers = {"Idempotency-Key": uuid4().hex}
    first = world.place(headers=headers)
    again = world.place(headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"


def test_whitespace_and_field_order_do_not_change_a_request(world: World) -> None:
    headers = {"Idempotency-Key": uuid4().hex, "Content-Type": "application/json"}
    in_order = f'{{"session_id":"{SESSION}","ticket_type_id":"{FLOOR}","quantity":1,"user_id":"u"}}'
    otherwise = (
        f'{{ "user_id": "u", "unit_price": null, "quantity": 1,\n'
        f'"ticket_type_id": "{str(FLOOR).upper()}", "session_id": "{SESSION}" }}'
    )
    first = world.call("POST", "/api/holds", content=in_order, headers=headers)
    again = world.call("POST", "/api/holds", content=otherwise, headers=headers)
    assert first.status_code == 201
    assert first.content == again.content


def test_the_same_key_with_another_request_is_422(world: World) -> None:
    headers = {"Idempotency-Key": uuid4().hex}
    world.place(headers=headers)
    other = world.place(headers=headers, quantity=3)
    assert (other.status_code, other.json()["error"]) == (422, "idempotency_key_reused")


def test_two_api_keys_do_not_share_idempotency_keys(world: World) -> None:
    headers = {"Idempotency-Key": uuid4().hex}
    first = world.place(headers=headers).json()
    other_secret = world.keys.new_key("holds:write")
    other = world.place(headers={**headers, "Authorization": f"Bearer {other_secret}"}).json()
    assert other["hold_id"] != first["hold_id"]


def test_a_chosen_hold_id_acts_as_an_idempotency_key(world: World) -> None:
    hold_id = str(uuid4())
    first = world.place(hold_id=hold_id)
    again = world.place(hold_id=hold_id)
    assert (first.status_code, first.json()["hold_id"]) == (201, hold_id)
    assert first.content == again.content
    assert again.headers["idempotent-replayed"] == "true"
    other = world.place(hold_id=hold_id, quantity=1)
    assert (other.status_code, other.json()["error"]) == (422, "idempotency_key_reused")


def test_a_chosen_id_holds_once_even_without_the_stored_answer(world: World) -> None:
    hold_id = str(uuid4())
    first = world.place(hold_id=hold_id)
    world.store.answers.clear()
    again = world.place(hold_id=hold_id)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json()["reference"] == first.json()["reference"]


def test_pages_neither_skip_nor_repeat_a_hold(world: World) -> None:
    email = f"{uuid4().hex}@example.com"
    placed = [world.place(customer_email=email).json()["hold_id"] for _ in range(3)]
    filters = {"customer_email": email, "limit": "2"}
    first = world.call("GET", "/api/holds", **sent(**filters)).json()
    assert first["has_more"] is True
    following = sent(**filters, cursor=first["next_cursor"])
    second = world.call("GET", "/api/holds", **following).json()
    assert second["has_more"] is False
    assert "next_cursor" not in second
    listed = [hold["hold_id"] for hold in first["data"] + second["data"]]
    assert listed == list(reversed(placed))


class Refusing:
    """An engine with one refusal, rendered like the real one when there is a key."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal

    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        raise AssertionError("the event loop cannot wait for a future")

    def submit_for_callback(
        self, command: Command, render: Render | None, deliver: Deliver
    ) -> None:
        deliver(Answer(self.refusal, render(self.refusal) if render else None))


class RenderingTwice:
    """An engine that renders a second outcome, and answers with the first."""

    def __init__(self, first: Refusal, second: Refusal) -> None:
        self.first, self.second = first, second

    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        raise AssertionError("the event loop cannot wait for a future")

    def submit_for_callback(
        self, command: Command, render: Render | None, deliver: Deliver
    ) -> None:
        assert render is not None
        body = render(self.first)
        render(self.second)
        deliver(Answer(self.first, body))


def test_only_a_replay_opens_the_seal(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[bytes] = []
    open_seal = Seal.open

    def counted(seal: Seal, stored: bytes) -> bytes:
        opened.append(stored)
        return open_seal(seal, stored)

    monkeypatch.setattr(Seal, "open", counted)
    headers = {"Idempotency-Key": uuid4().hex}
    first = world.place(headers=headers)
    assert (first.status_code, opened) == (201, [])
    assert world.place(headers=headers).content == first.content
    assert len(opened) == 1


def test_the_reply_belongs_to_the_recorded_answer_not_to_the_last_one_rendered(
    world: World,
) -> None:
    engine = RenderingTwice(refusals.insufficient_inventory(1), refusals.internal_error())
    api, world.api = world.api, create_api(replace(world.container, submit=engine))
    try:
        answer = world.place(headers={"Idempotency-Key": "k"})
    finally:
        world.api.close()
        world.api = api
    assert answer.status_code == 409
    assert answer.json()["error"] == "insufficient_inventory"


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k"}], ids=["plain", "with a key"])
@pytest.mark.parametrize(
    ("refusal", "status", "retry_after"),
    [
        (refusals.service_unavailable(), 503, "1"),
        (refusals.request_in_progress(), 409, "1"),
        (refusals.insufficient_inventory(1), 409, None),
        (refusals.internal_error(), 500, None),
    ],
)
def test_refusals_say_when_to_retry(
    world: World, refusal: Refusal, status: int, retry_after: str | None, headers: dict[str, str]
) -> None:
    api, world.api = world.api, create_api(replace(world.container, submit=Refusing(refusal)))
    try:
        answer = world.place(headers=headers)
    finally:
        world.api.close()
        world.api = api
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers.get("retry-after") == retry_after
    assert (answer.json()["error"], answer.json()["message"]) == (refusal.code, refusal.message)


def test_a_problem_with_its_own_time_has_no_other() -> None:
    headers = ((b"retry-after", b"600"),)
    locked = Problem(ProblemCode.TOO_MANY_REQUESTS, "Too many wrong passwords", headers=headers)
    assert locked.reply("request-1").headers == headers
    busy = Problem(ProblemCode.TOO_MANY_REQUESTS, "Too many")
    assert busy.reply("request-1").headers == ((b"retry-after", b"1"),)
