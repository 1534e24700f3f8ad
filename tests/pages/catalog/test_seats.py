"""Seats from a file or from the designer, and the copy of a hall."""

from typing import Any
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.pages.catalog.conftest import Desk

GOOD = "block,row,number,accessible\nStalls,A,1,yes\nStalls,A,2,\nBalcony,A,1,\n"
PART = {
    "block": "Stalls",
    "first_row": "a",
    "last_row": "D",
    "seats_per_row": "10",
    "first_number": "1",
    "numbering": "left",
}


@pytest.fixture
def session_id(desk: Desk) -> UUID:
    return desk.session(desk.event())


def seats(desk: Desk, session_id: UUID) -> list[Any]:
    return desk.rows(
        "SELECT b.name, s.row_name, s.number, s.is_accessible FROM seat s"
        " JOIN block b ON (b.organization_id, b.id) = (s.organization_id, s.block_id)"
        " WHERE s.session_id = %s ORDER BY b.rank, s.row_rank, s.position",
        session_id,
    )


def parts(*given: dict[str, str], step: str = "preview") -> dict[str, str]:
    entered = {"step": step, "part-TOTAL_FORMS": str(len(given)), "part-INITIAL_FORMS": "0"}
    for number, part in enumerate(given):
        entered |= {f"part-{number}-{name}": value for name, value in (PART | part).items()}
    return entered


def file(content: bytes | str) -> SimpleUploadedFile:
    data = content.encode() if isinstance(content, str) else content
    return SimpleUploadedFile("seats.csv", data, "text/csv")


def test_a_file_is_shown_before_it_is_written(desk: Desk, session_id: UUID) -> None:
    upload = f"session/{session_id}/upload/"
    preview = desk.refused(upload, file=file("\ufeff" + GOOD), reason="Hall plan")
    assert "3 seats in 2 rows" in preview
    assert "Stalls, row A, seat 1" in preview
    assert "no seated ticket type yet" in preview
    assert seats(desk, session_id) == []
    desk.save(upload, content=GOOD, reason="Hall plan")
    expected = [
        ("Stalls", "A", "1", True),
        ("Stalls", "A", "2", False),
        ("Balcony", "A", "1", False),
    ]
    assert seats(desk, session_id) == expected
    assert desk.audited("seats.imported")[-1][1:] == (desk.name, "Hall plan")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (GOOD + "Stalls,A,2,\nStalls,,3,\n", "Line 5:</strong> This row already has"),
        (GOOD + "Stalls,A,2,\nStalls,,3,\n", "Line 6:</strong> row is required"),
        (GOOD.replace(",", ";"), "with commas, not with semicolons"),
        (GOOD.replace(",", "\t"), "with commas, not with tabs"),
        ("block,row,number\nLoge é,A,1\n".encode("latin-1"), "Must be UTF-8"),
        (GOOD.encode("utf-16"), "Must be UTF-8"),
        ("block,row\nStalls,A\n", "lacks the column(s): number"),
        ("block,row,number\n", "no seats after its header"),
        (b"x" * (2 * 1024 * 1024 + 1), "larger than 2 MiB"),
        ("", "empty"),
    ],
)
def test_errors_of_a_file_are_listed_by_line(
    desk: Desk, session_id: UUID, content: bytes | str, problem: str
) -> None:
    page = desk.refused(f"session/{session_id}/upload/", file=file(content))
    assert problem in page
    assert seats(desk, session_id) == []


def test_seats_that_exist_are_reported_before_anything_is_written(
    desk: Desk, session_id: UUID
) -> None:
    upload = f"session/{session_id}/upload/"
    assert "Choose a file" in desk.refused(upload)
    desk.save(upload, content=GOOD)
    more = GOOD + "Stalls,A,3,\n"
    page = desk.refused(upload, file=file(more))
    assert "Line 2:</strong> This row already has a seat with this number" in page
    assert "3 error(s)" in page
    # Somebody else may have written them after the preview.
    assert "This row already has a seat" in desk.refused(upload, content=more)
    assert len(seats(desk, session_id)) == 3


def test_rows_are_drawn_before_they_are_written(desk: Desk, session_id: UUID) -> None:
    adult = desk.ticket_type(session_id, is_seated="on")
    design = f"session/{session_id}/design/"
    assert "Rows from" in desk.get(design)
    front = {"accessible": "a5", "ticket_type": str(adult), "price": "40", "first_number": "5"}
    rear = {"block": "Rear", "first_row": "E", "last_row": "H", "ticket_type": str(adult)}
    preview = desk.refused(design, **parts(front, rear))
    assert "80 seats in 8 rows" in preview
    assert preview.count("<circle") == 80
    assert seats(desk, session_id) == []
    again = desk.refused(design, **parts(front, rear, step="change"))
    assert 'value="Rear"' in again
    desk.save(design, **parts(front, rear, step="write"))
    made = seats(desk, session_id)
    assert len(made) == 80
    assert made[0] == ("Stalls", "A", "5", True)
    assert made[9] == ("Stalls", "A", "14", False)
    prices = desk.rows(
        "SELECT p.price_minor FROM block_price p JOIN block b ON b.id = p.block_id"
        " WHERE b.session_id = %s ORDER BY b.rank",
        session_id,
    )
    assert prices == [(4000,), (2550,)]


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ({"block": ""}, "This field is required"),
        ({"first_row": "A-"}, "one to three letters"),
        ({"first_row": "H"}, "in ascending order"),
        ({"first_row": "1"}, "in ascending order"),
        ({"seats_per_row": "0"}, "greater than or equal to 1"),
        ({"accessible": "Z1"}, "no seat of this block"),
        ({"aisles": "x"}, "Enter numbers separated by commas"),
        ({"aisles": "10"}, "other than the last"),
        ({"price": "5"}, "Choose the ticket type"),
        ({"last_row": "ZZZ", "seats_per_row": "1000"}, "At most 50000 seats"),
    ],
)
def test_wrong_rows_are_explained_at_their_field(
    desk: Desk, session_id: UUID, part: dict[str, str], problem: str
) -> None:
    page = desk.refused(f"session/{session_id}/design/", **parts(part, step="write"))
    assert problem in page
    assert seats(desk, session_id) == []


def test_another_part_keeps_what_was_entered(desk: Desk, session_id: UUID) -> None:
    page = desk.refused(f"session/{session_id}/design/", **parts({"last_row": "?"}, step="more"))
    assert "Part 2" in page
    assert 'value="?"' in page
    assert page.count('value="Stalls"') == 2


def furnish(desk: Desk, session_id: UUID) -> None:
    desk.save(f"session/{session_id}/pool/", name="Wine", total="50")
    ((pool_id,),) = desk.rows("SELECT id FROM pool WHERE session_id = %s", session_id)
    adult = desk.ticket_type(session_id, is_seated="on", ttl_seconds="300")
    desk.ticket_type(session_id, name="Wine", price="5", pools=[str(pool_id)])
    front = {"accessible": "A1", "ticket_type": str(adult), "price": "40"}
    desk.save(f"session/{session_id}/design/", **parts(front, step="write"))


def inventory(desk: Desk, session_id: UUID) -> list[Any]:
    queries = (
        """SELECT name, total FROM pool WHERE session_id = %s ORDER BY name""",
        """SELECT t.name, price_minor, is_seated, ttl_seconds, p.name FROM ticket_type t
        LEFT JOIN ticket_type_pool tp ON tp.ticket_type_id = t.id
        LEFT JOIN pool p ON p.id = tp.pool_id WHERE t.session_id = %s ORDER BY t.name""",
        """SELECT b.name, b.rank, t.name, p.price_minor FROM block b
        LEFT JOIN block_price p ON p.block_id = b.id
        LEFT JOIN ticket_type t ON t.id = p.ticket_type_id WHERE b.session_id = %s""",
        """SELECT row_name, row_rank, number, position, x, y, is_accessible FROM seat
        WHERE session_id = %s ORDER BY row_rank, position""",
    )
    return [desk.rows(query, session_id) for query in queries]


def test_a_hall_is_copied_to_other_sessions(desk: Desk) -> None:
    event_id = desk.event()
    first, second, third = (desk.session(event_id, name=name) for name in ("Fri", "Sat", "Sun"))
    copy = f"session/{first}/copy/"
    assert desk.save(copy).endswith("change/")  # nothing to copy yet
    furnish(desk, first)
    assert "2 ticket types, 1 block, 40 seats" in desk.get(copy)
    assert "Choose at least one session" in desk.refused(copy)
    targets = {"targets": [str(second), str(third)]}
    assert "to 2 sessions" in desk.refused(copy, **targets)
    assert seats(desk, second) == []
    desk.save(copy, **targets, is_previewed="on", reason="Same hall")
    assert inventory(desk, second) == inventory(desk, first)
    assert inventory(desk, third) == inventory(desk, first)
    assert {entry[1:] for entry in desk.audited("seats.imported")[-2:]} == {
        (desk.name, "Same hall")
    }
    desk.save(copy, **targets, is_previewed="on")  # again, which changes nothing
    assert inventory(desk, second) == inventory(desk, first)


def test_a_copy_adds_what_is_missing_and_shows_its_progress(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.entrypoints.admin.catalog.hall_copies.SECONDS_PER_REQUEST", 0.0)
    event_id = desk.event()
    first, second, third = (desk.session(event_id, name=name) for name in ("Fri", "Sat", "Sun"))
    furnish(desk, first)
    desk.save(f"session/{second}/upload/", content="block,row,number\nStalls,A,1\n")
    copy = f"session/{first}/copy/"
    page = desk.refused(copy, targets=[str(second), str(third)], is_previewed="on", all="2")
    assert "1 of 2 done" in page
    assert "continue.js" in page
    assert len(seats(desk, second)) == 40
    assert seats(desk, third) == []
    desk.save(copy, targets=[str(third)], is_previewed="on", all="2")
    assert len(seats(desk, third)) == 40


def test_a_hall_is_copied_to_another_event_with_the_same_currency(desk: Desk) -> None:
    first = desk.session(desk.event())
    furnish(desk, first)
    other_event, foreign = desk.event(name="Tour"), desk.event(name="Abroad", currency="CHF")
    other = desk.session(other_event, name="Tour 1")
    copy = f"session/{first}/copy/"
    page = desk.get(copy)
    assert f"event_id={other_event}" in page
    assert "Tour 1" in desk.get(copy, event_id=str(other_event))
    assert f"event_id={foreign}" not in page
    desk.save(f"{copy}?event_id={other_event}", targets=[str(other)], is_previewed="on")
    assert inventory(desk, other) == inventory(desk, first)


def test_a_hall_is_offered_to_sessions_to_come_and_empty_ones_first(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    event_id = desk.event()
    given = {"Fri": "08-02", "Sold": "08-03", "Late": "08-09", "Called off": "08-04"}
    ids = {
        name: desk.session(event_id, name=name, starts_at=f"2030-{day}T20:00")
        for name, day in given.items()
    }
    desk.session(event_id, name="Over", starts_at="2020-01-01T20:00")
    furnish(desk, ids["Fri"])
    desk.ticket_type(ids["Sold"], capacity="1")
    desk.save(f"session/{ids['Called off']}/cancel/", reason="The river flooded the stage")
    copy = f"session/{ids['Fri']}/copy/"
    page = desk.get(copy)
    assert page.index("Late, ") < page.index("Sold, ")
    assert "Over, " not in page
    assert "Called off, " not in page
    assert "sessions are listed" not in page
    monkeypatch.setattr("holdfast.entrypoints.admin.catalog.hall_copies.TARGETS_MAX", 1)
    page = desk.get(copy)
    assert "Only the next 1 sessions are listed, those without ticket types first." in page
    assert "Sold, " not in page
