"""Checks of callers, ids and fields."""

from collections.abc import Callable, Sequence
from uuid import uuid4

from holdfast.entrypoints.inventory.conformance.probe import Counts, Json, Service, expect


def needs_a_key(service: Service) -> None:
    """Every call without a key, or with an unknown one, is refused with 401"""
    for authorization in (None, f"unknown-{uuid4()}"):
        for method, path, body in _every_call(service):
            answer = service.call(method, path, body, authorization=authorization)
            answer.expect_problem(401)


def _every_call(service: Service) -> list[tuple[str, str, Json | None]]:
    hold_id = str(uuid4())
    about = {"hold_id": hold_id, "session_id": service.session_id}
    with_lines = about | {"lines": service.lines(1)}
    return [
        ("POST", "/inventory/hold", with_lines),
        ("POST", "/inventory/release", about),
        ("POST", "/inventory/commit", with_lines),
        ("GET", "/inventory/holds", None),
        ("GET", f"/inventory/holds/{hold_id}", None),
        ("GET", f"/inventory/items/{service.session_id}", None),
        ("GET", service.item_path, None),
    ]


def refuses_unknown_sessions(service: Service) -> None:
    """An unknown session in a body is refused with 400 invalid_session"""
    unknown = str(uuid4())
    for call in ("hold", "release"):
        body = {"hold_id": str(uuid4()), "session_id": unknown}
        if call == "hold":
            body["lines"] = service.lines(1)  # type: ignore[assignment]
        service.call("POST", f"/inventory/{call}", body).expect_problem(400, "invalid_session")


def refuses_unknown_ticket_types(service: Service) -> None:
    """An unknown ticket type in a hold is refused with 400 invalid_ticket_type"""
    lines = [{"ticket_type_id": str(uuid4()), "quantity": 1}]
    service.new_hold().hold(1, lines=lines).expect_problem(400, "invalid_ticket_type")


def refuses_invalid_fields(service: Service) -> None:
    """A field that breaks a rule is refused with 400, and nothing changes"""
    before, line = service.counts(), service.lines(1)[0]
    wrong: list[Json] = [
        {"lines": []},
        {"lines": [line | {"quantity": 0}]},
        {"lines": [line | {"quantity": -1}]},
        {"lines": [line | {"quantity": 100_001}]},
        {"lines": [line | {"quantity": "1"}]},
        {"lines": [line | {"ticket_type_id": "1"}]},
        {"lines": [line, line]},
        {"lines": [{"ticket_type_id": str(uuid4()), "quantity": 1} for _ in range(51)]},
        {"hold_id": "1"},
        {"session_id": "1"},
        {"lines": None},
    ]
    for each in wrong:
        mine = service.new_hold()
        mine.hold(1, **each).expect_problem(400)
    service.expect_counts(before, held=0, committed=0)


def refuses_invalid_queries(service: Service) -> None:
    """An invalid status, limit or cursor of the list is refused with 400"""
    for query in ({"status": "unknown"}, {"limit": "0"}, {"limit": "101"}, {"after": "unknown"}):
        service.call("GET", "/inventory/holds", query=query).expect_problem(400)


def does_not_find_unknown_ids(service: Service) -> None:
    """An unknown id in a path is refused with 404"""
    unknown = str(uuid4())
    hold = service.call("GET", f"/inventory/holds/{unknown}")
    hold.expect_problem(404, "hold_not_found")
    for path in (unknown, f"{unknown}/{service.ticket_type_id}", f"{service.session_id}/{unknown}"):
        service.call("GET", f"/inventory/items/{path}").expect_problem(404)


def lists_all_items(service: Service) -> None:
    """The items of the session have the same counts as each item alone"""
    answer = service.call("GET", f"/inventory/items/{service.session_id}").expect_status(200)
    items = answer.body.get("data") if isinstance(answer.body, dict) else None
    found = [
        Counts(*(each.get(name) for name in Counts._fields))
        for each in items or ()
        if each.get("ticket_type_id") == service.ticket_type_id
        and each.get("session_id") == service.session_id
    ]
    expect(found, [service.counts()], "the item in the list")


RULES: Sequence[Callable[[Service], None]] = (
    needs_a_key,
    refuses_unknown_sessions,
    refuses_unknown_ticket_types,
    refuses_invalid_fields,
    refuses_invalid_queries,
    does_not_find_unknown_ids,
    lists_all_items,
)
