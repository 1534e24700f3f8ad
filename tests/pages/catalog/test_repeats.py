"""A form that is sent twice, or by two people at once, creates everything once."""

import re
from contextlib import nullcontext
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest

from tests.pages.catalog.conftest import Desk, in_another_thread
from tests.pages.catalog.test_seats import furnish, inventory
from tests.pages.catalog.test_sessions import RULE, starts

MODULES = "holdfast.entrypoints.admin.catalog"


def form_id(page: str) -> str:
    found = re.search(r'name="form_id" value="(\w+)"', page)
    assert found is not None
    return found[1]


CREATED: dict[str, tuple[str, dict[str, str]]] = {
    "event": ("event/new/{organization}/", {"name": "River", "currency": "EUR"}),
    "session": ("event/{event}/session/", {"name": "Sunday"}),
    "pool": ("session/{session}/pool/", {"name": "Floor", "total": "5"}),
    "ticket_type": (
        "session/{session}/tickettype/",
        {"name": "Child", "price": "1", "capacity": "5"},
    ),
    "block": ("session/{session}/block/", {"name": "Stalls"}),
}


def created(desk: Desk, table: str, name: str) -> int:
    query = f"SELECT count(*) FROM {table} WHERE organization_id = %s AND name = %s"
    ((count,),) = desk.rows(query, desk.sale.organization_id, name)
    return int(count)


@pytest.mark.parametrize("table", CREATED)
def test_a_form_that_is_sent_twice_creates_one_row(desk: Desk, table: str) -> None:
    event_id = desk.event()
    ids = {
        "organization": desk.sale.organization_id,
        "event": event_id,
        "session": desk.session(event_id),
    }
    path, given = CREATED[table]
    path = path.format(**ids)
    entered = {**given, "form_id": form_id(desk.get(path))}
    before = created(desk, table, given["name"])
    pages = {desk.save(path, **entered) for _ in range(2)}
    assert len(pages) == 1, "the second one leads to the same page"
    assert created(desk, table, given["name"]) == before + 1
    desk.save(path, **{**entered, "name": "Another"})  # after the back button
    assert created(desk, table, "Another") == 1
    if table != "block":  # whose name is taken
        desk.save(path, **given, form_id=form_id(desk.get(path)))
        assert created(desk, table, given["name"]) == before + 2


def test_a_refused_form_can_be_sent_again(desk: Desk) -> None:
    path = f"session/{desk.session(desk.event())}/block/"
    desk.save(path, name="Stalls")
    entered = {"name": "Stalls", "form_id": form_id(desk.get(path))}
    page = desk.refused(path, **entered)
    assert "already" in page
    assert "sent twice, and refused" in desk.refused(path, **entered)
    desk.rows("UPDATE block SET name = 'Balcony' WHERE name = 'Stalls' RETURNING 1")
    desk.save(path, **{**entered, "form_id": form_id(page)})
    assert created(desk, "block", "Stalls") == 1


def meanwhile(monkeypatch: pytest.MonkeyPatch, look: str, row_id: UUID, action: Any) -> list[Any]:
    """Do it once this row was looked at, before what is missing is added. Returns what came of
    it."""
    module, _, name = look.partition(".")
    real = import_module(f"{MODULES}.{module}").__dict__[name]
    results: list[Any] = []

    def slow(row: Any) -> Any:
        found = real(row)
        if row.id == row_id and not results:
            results.append(None)
            results[0] = in_another_thread(action)
        return found

    monkeypatch.setattr(f"{MODULES}.{look}", slow)
    return results


def unguarded(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setattr(f"{MODULES}.{module}.alone", lambda _: nullcontext(True))


@pytest.mark.parametrize("is_guarded", [True, False])
def test_two_runs_of_a_rule_add_each_session_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    event_id = desk.event()
    path = f"event/{event_id}/sessions/"

    def run() -> Any:
        return desk.post(path, **RULE, is_previewed="on")

    if not is_guarded:
        unguarded(monkeypatch, "sessions")
    others = meanwhile(monkeypatch, "sessions._known", event_id, run)
    run()
    assert len(starts(desk, event_id)) == (8 if is_guarded else 16)
    assert ("are being added at this moment" in others[0].content.decode()) is is_guarded


@pytest.mark.parametrize("is_guarded", [True, False])
def test_two_copies_to_a_session_add_each_part_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    event_id = desk.event()
    first, second = (desk.session(event_id, name=name) for name in ("Fri", "Sat"))
    furnish(desk, first)

    def run() -> Any:
        path = f"session/{first}/copy/"
        return desk.post(path, targets=[str(second)], is_previewed="on")

    if not is_guarded:
        unguarded(monkeypatch, "hall_copies")
    others = meanwhile(monkeypatch, "hall_copies.hall_of_session", second, run)
    run()
    assert (inventory(desk, second) == inventory(desk, first)) is is_guarded
    assert ("somebody is copying" in others[0].content.decode()) is is_guarded
