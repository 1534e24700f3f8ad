"""Importing the seats of a session from a description or from CSV, all of them or none."""

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx
import pytest

from tests.e2e.answers import problem_of
from tests.e2e.owner import Owner
from tests.support.platform import Json, Platform

HEADER = "block,row,number"


def seats_path(session_id: str) -> str:
    return f"/api/sessions/{session_id}/seats"


def send_csv(
    platform: Platform, session_id: str, text: str | bytes, key: str | None = None
) -> httpx.Response:
    content = text if isinstance(text, bytes) else text.encode()
    headers = {"Content-Type": "text/csv"} | ({"Idempotency-Key": key} if key else {})
    return platform.client.post(seats_path(session_id), content=content, headers=headers)


def send_layouts(platform: Platform, session_id: str, *blocks: Json) -> httpx.Response:
    return platform.client.post(seats_path(session_id), json={"blocks": list(blocks)})


def errors_of(answer: httpx.Response) -> list[tuple[str, str]]:
    problem = problem_of(answer, 400, "invalid_seats")
    assert all(error["message"] for error in problem["errors"])
    return [(error["field"], error["code"]) for error in problem["errors"]]


def stored(owner: Owner, session_id: str) -> list[tuple[object, ...]]:
    """Block, row, its rank, number, position, x, y and attributes of each seat, by place."""
    return owner.rows(
        "SELECT b.name, s.row_name, s.row_rank, s.number, s.position, s.x, s.y,"
        " concat_ws(' ', CASE WHEN is_accessible THEN 'accessible' END,"
        " CASE WHEN is_companion THEN 'companion' END,"
        " CASE WHEN is_restricted_view THEN 'restricted' END)"
        " FROM seat s JOIN block b ON b.id = s.block_id WHERE s.session_id = %s"
        " ORDER BY b.rank, s.row_rank, s.position",
        session_id,
    )


def labels(owner: Owner, session_id: str) -> list[str]:
    return [f"{row[0]} {row[1]}{row[3]}@{row[4]}" for row in stored(owner, session_id)]


def test_a_description_is_imported_as_seats(platform: Platform, owner: Owner) -> None:
    session_id = platform.on_sale().session_id
    answer = send_layouts(
        platform,
        session_id,
        {
            "name": "Stalls",
            "rows": {"from": "A", "to": "B"},
            "seats_per_row": 4,
            "numbering": "odd_even",
            "aisles_after": [2],
            "gaps": ["A3"],
            "accessible": ["B1"],
            "companion": ["B2"],
            "restricted_view": ["B4", "B1"],
            "origin": {"x": 10, "y": 5},
            "spacing": {"x": 0.5, "y": 2},
        },
        {"name": "Balcony", "rows": ["Z"], "seats_per_row": 2, "numbering": "right"},
    )
    assert answer.status_code == 201, answer.text
    imported = answer.json()
    assert imported == {
        "session_id": session_id,
        "seats_added": 9,
        "blocks": [
            {"block_id": imported["blocks"][0]["block_id"], "name": "Stalls", "seats_added": 7},
            {"block_id": imported["blocks"][1]["block_id"], "name": "Balcony", "seats_added": 2},
        ],
    }
    assert stored(owner, session_id) == [
        ("Stalls", "A", 0, "1", 2, 10.5, 5.0, ""),
        ("Stalls", "A", 0, "2", 4, 11.5, 5.0, ""),
        ("Stalls", "A", 0, "4", 5, 12.0, 5.0, ""),
        ("Stalls", "B", 1, "3", 1, 10.0, 7.0, ""),
        ("Stalls", "B", 1, "1", 2, 10.5, 7.0, "accessible restricted"),
        ("Stalls", "B", 1, "2", 4, 11.5, 7.0, "companion"),
        ("Stalls", "B", 1, "4", 5, 12.0, 7.0, "restricted"),
        ("Balcony", "Z", 0, "2", 1, 0.0, 0.0, ""),
        ("Balcony", "Z", 0, "1", 2, 1.0, 0.0, ""),
    ]
    block = platform.client.get(f"/api/blocks/{imported['blocks'][0]['block_id']}").json()
    assert (block["name"], block["seat_count"], block.get("capacity")) == ("Stalls", 7, None)


def test_an_import_sets_the_terms_of_a_new_block(platform: Platform) -> None:
    session_id = platform.on_sale().session_id
    seated = {"session_id": session_id, "name": "Adult", "price": 1, "is_seated": True}
    sold_here = [
        {"ticket_type_id": platform.made("/api/ticket-types", seated)["ticket_type_id"], "price": 9}
    ]
    terms: Json = {"capacity": 3, "rank": 4, "ticket_types": sold_here}
    first = {"name": "Stalls", "rows": ["A"], "seats_per_row": 4} | terms
    # One block in two parts, because its rows differ in length.
    second = {"name": "Stalls", "rows": ["B"], "seats_per_row": 6}
    answer = send_layouts(platform, session_id, first, second)
    assert answer.status_code == 201, answer.text
    (block,) = answer.json()["blocks"]
    read = platform.client.get(f"/api/blocks/{block['block_id']}").json()
    assert {name: read[name] for name in terms} == terms
    assert read["seat_count"] == block["seats_added"] == 10
    again = send_layouts(platform, session_id, {**first, "rows": ["C"]})
    assert errors_of(again) == [("blocks[0]", "conflicting_fields")]


def test_csv_is_imported_as_seats(platform: Platform, owner: Owner) -> None:
    session_id = platform.on_sale().session_id
    text = """block,row,number,position,x,y,accessible,companion,restricted_view
Stalls,B,1,,,,,,
"Balcony, left",A,1,7,1.5,-2,TRUE,no,0
Stalls,B,2,,,,false,Yes,1
Stalls,B,3,5,,,0,,
Stalls,B,4,,,,,,
Stalls,A,"1"" b",,,,,,
"""
    answer = send_csv(platform, session_id, text)
    assert answer.status_code == 201, answer.text
    assert [(b["name"], b["seats_added"]) for b in answer.json()["blocks"]] == [
        ("Stalls", 5),
        ("Balcony, left", 1),
    ]
    assert stored(owner, session_id) == [
        ("Stalls", "B", 0, "1", 1, 0.0, 0.0, ""),
        ("Stalls", "B", 0, "2", 2, 1.0, 0.0, "companion restricted"),
        ("Stalls", "B", 0, "3", 5, 4.0, 0.0, ""),
        ("Stalls", "B", 0, "4", 6, 5.0, 0.0, ""),
        ("Stalls", "A", 1, '1" b', 1, 0.0, 1.0, ""),
        ("Balcony, left", "A", 0, "1", 7, 1.5, -2.0, "accessible"),
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"block,row,number\nStalls,A,1",
        b"block,row,number\r\nStalls,A,1\r\n",
        b"block,row,number\rStalls,A,1\r",
        b"\xef\xbb\xbfblock,row,number\r\nStalls,A,1\r\n",
        b"\nNumber, BLOCK ,row\n\n 1 , Stalls ,A\n,,\n\n",
        b'"block","row","number"\n"Stalls","A","1"\n',
    ],
    ids=["plain", "crlf", "cr", "byte order mark", "order, case and blanks", "quotes"],
)
def test_csv_from_any_spreadsheet_is_accepted(
    platform: Platform, owner: Owner, content: bytes
) -> None:
    session_id = platform.on_sale().session_id
    assert send_csv(platform, session_id, content).status_code == 201
    assert labels(owner, session_id) == ["Stalls A1@1"]


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        (b"", [("line 1", "required")]),
        (b"\n\n", [("line 1", "required")]),
        (b"block,row,number\n", [("line 2", "required")]),
        (b"block,row\nStalls,A\n", [("line 1", "required")]),
        (b"block;row;number\nStalls;A;1\n", [("line 1", "unknown_field")]),
        (b"block,row,number,price\nStalls,A,1,5\n", [("line 1", "unknown_field")]),
        (b"block,row,number,row\nStalls,A,1,A\n", [("line 1", "duplicate")]),
        (b"Stalls,A,1\nStalls,A,2\n", [("line 1", "unknown_field")]),
        (b"block,row,number\nStalls,A\n", [("line 2", "invalid_value")]),
        (b"block,row,number\nStalls,A,1,\n", [("line 2", "invalid_value")]),
        (b"block,row,number\n,A,1\n", [("line 2", "required")]),
        (b"block,row,number\nStalls, ,1\n", [("line 2", "required")]),
        (b"block,row,number\nStalls,A,\n", [("line 2", "required")]),
        (b"block,row,number\nStalls,A,%b\n" % (b"1" * 21), [("line 2", "invalid_value")]),
        (b"block,row,number\n%b,A,1\n" % (b"x" * 201), [("line 2", "invalid_value")]),
        (b'block,row,number\n"Sta\nlls",A,1\n', [("line 2", "invalid_characters")]),
        (b"block,row,number\nSta\x00lls,A,1\n", [("line 2", "invalid_characters")]),
        (b"block,row,number\nStalls,A,1\nSt\xe4lle,A,1\n", [("line 3", "invalid_characters")]),
        (b'block,row,number\nStalls,A,1\n"Stalls,A,2\n', [("line 3", "invalid_value")]),
        (b'block,row,number\nStalls,A,1\n"Sta"lls,A,2\n', [("line 3", "invalid_value")]),
        (b"block,row,number\nStalls,A,1\nStalls,A,1\n", [("line 3", "duplicate")]),
    ],
)
def test_an_invalid_list_imports_nothing(
    platform: Platform, owner: Owner, text: bytes, errors: list[tuple[str, str]]
) -> None:
    session_id = platform.on_sale().session_id
    before = owner.everything(platform.organization_id)
    assert errors_of(send_csv(platform, session_id, text)) == errors
    assert owner.everything(platform.organization_id) == before


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("position", ["0", "-1", "1.5", "2001", "one", "9" * 50, "\u0663"]),
        ("x", ["one", "nan", "inf", "1e9", "1000001", "1_0"]),
        ("y", ["-1000001", "--1"]),
        ("accessible", ["maybe", "2", "t"]),
        ("companion", ["x"]),
        ("restricted_view", ["ja"]),
    ],
)
def test_errors_name_the_invalid_field_but_never_repeat_its_value(
    platform: Platform, column: str, values: list[str]
) -> None:
    lines = [f"Stalls,A,{number},{value}" for number, value in enumerate(values)]
    answer = send_csv(
        platform,
        platform.on_sale().session_id,
        "\n".join([f"{HEADER},{column}", "Stalls,B,1,", *lines]),
    )
    expected = [(f"line {line}", "invalid_value") for line in range(3, 3 + len(values))]
    assert errors_of(answer) == expected
    for error in answer.json()["errors"]:
        assert error["message"].startswith(f"{column} must be ")
    assert "maybe" not in answer.text


def test_every_invalid_row_is_counted_and_the_first_hundred_are_shown(
    platform: Platform, owner: Owner
) -> None:
    session_id = platform.on_sale().session_id
    lines = [HEADER, "Stalls,A,1", *(f",B,{number}" for number in range(150)), "Stalls,A,1"]
    answer = send_csv(platform, session_id, "\n".join(lines))
    errors = errors_of(answer)
    assert errors == [(f"line {line}", "required") for line in range(3, 103)]
    problem = answer.json()
    assert problem["error_count"] == 151
    assert problem["message"] == "Nothing was imported: 151 error(s); here are the first 100"
    assert labels(owner, session_id) == []


def numbered(first: int, last: int) -> list[str]:
    return [f"Stalls,A,{number}" for number in range(first, last + 1)]


def test_a_row_has_at_most_a_thousand_seats(platform: Platform, owner: Owner) -> None:
    session_id = platform.on_sale().session_id
    too_many = send_csv(platform, session_id, "\n".join([HEADER, *numbered(1, 1002)]))
    assert errors_of(too_many) == [("line 1002", "too_many"), ("line 1003", "too_many")]
    assert labels(owner, session_id) == []
    most = f"{HEADER},position\nStalls,B,x,1999\n" + ",\n".join([*numbered(1, 999), ""])
    assert send_csv(platform, session_id, most).json()["seats_added"] == 1000
    one_more = send_csv(platform, session_id, "\n".join([HEADER, *numbered(1000, 1001)]))
    assert errors_of(one_more) == [("line 3", "too_many")], "existing seats count too"
    described = {"name": "Stalls", "rows": ["B"], "seats_per_row": 1000, "aisles_after": [1]}
    assert errors_of(send_layouts(platform, session_id, described)) == [
        ("blocks[0].rows", "too_many")
    ]
    assert len(labels(owner, session_id)) == 1000


def test_a_derived_position_has_the_same_limit(platform: Platform, owner: Owner) -> None:
    """The last position is 2000; the seat after it would be beyond."""
    session_id = platform.on_sale().session_id
    lines = f"{HEADER},position\nStalls,A,1,1999\nStalls,A,2,\n"
    answer = send_csv(platform, session_id, f"{lines}Stalls,A,3,\n")
    assert errors_of(answer) == [("line 4", "invalid_value")]
    assert "from 1 to 2000" in answer.json()["errors"][0]["message"]
    assert labels(owner, session_id) == []
    assert send_csv(platform, session_id, lines).status_code == 201
    assert labels(owner, session_id) == ["Stalls A1@1999", "Stalls A2@2000"]
    answer = send_csv(platform, session_id, f"{HEADER}\nStalls,A,3\n")
    assert errors_of(answer) == [("line 2", "invalid_value")]


def test_existing_seats_are_not_imported_twice(platform: Platform, owner: Owner) -> None:
    session_id = platform.on_sale().session_id
    first = f"{HEADER},position\nStalls,A,1,1\nStalls,A,2,2\n"
    assert send_csv(platform, session_id, first).status_code == 201
    before = owner.everything(platform.organization_id)
    mixed = f"{HEADER},position\nBalcony,A,1,1\nStalls,A,2,9\nStalls,A,3,2\nStalls,B,1,1\n"
    assert errors_of(send_csv(platform, session_id, mixed)) == [
        ("line 3", "duplicate"),
        ("line 4", "duplicate"),
    ]
    layout = {"name": "Stalls", "rows": {"from": "A", "to": "C"}, "seats_per_row": 2}
    again = send_layouts(platform, session_id, {**layout, "name": "Balcony"}, layout)
    assert errors_of(again) == [("blocks[1].rows", "duplicate")]
    assert owner.everything(platform.organization_id) == before
    assert labels(owner, session_id) == ["Stalls A1@1", "Stalls A2@2"]


def test_a_block_can_get_more_seats_later(platform: Platform, owner: Owner) -> None:
    hall = platform.hall(2, 3)
    added = f"{HEADER}\nStalls,2,4\nStalls,0,1\nStalls,2,5\n"
    answer = send_csv(platform, hall.session_id, added)
    assert [(b["block_id"], b["seats_added"]) for b in answer.json()["blocks"]] == [
        (hall.block_id, 3)
    ]
    rows = [row[1:5] for row in stored(owner, hall.session_id)[3:]]
    assert rows == [
        ("2", 1, "1", 1),
        ("2", 1, "2", 2),
        ("2", 1, "3", 3),
        ("2", 1, "4", 4),
        ("2", 1, "5", 5),
        ("0", 2, "1", 1),
    ]


def test_new_seats_are_on_sale_at_once(platform: Platform) -> None:
    hall = platform.hall(1, 2)
    body: Json = {"session_id": hall.session_id, "ticket_type_id": hall.ticket_type_id}
    both = platform.client.post("/api/holds", json=body | {"quantity": 2, "user_id": "a"})
    assert both.status_code == 201
    none = platform.client.post("/api/holds", json=body | {"quantity": 2, "user_id": "b"})
    problem_of(none, 409, "no_available_seats")
    more = {"name": "Balcony", "rows": ["A"], "seats_per_row": 2}
    assert send_layouts(platform, hall.session_id, more).status_code == 201
    found = platform.client.post("/api/holds", json=body | {"quantity": 2, "user_id": "b"})
    assert found.status_code == 201
    assert {line["seat"]["block_name"] for line in found.json()["lines"]} == {"Balcony"}


def many(count: int) -> str:
    lines = (
        f"Block {number // 5000},{number % 5000 // 50},{number % 50 + 1}" for number in range(count)
    )
    return "\n".join((HEADER, *lines))


def test_fifty_thousand_seats_can_be_imported_in_one_call(platform: Platform, owner: Owner) -> None:
    session_id = platform.on_sale().session_id
    key = uuid4().hex
    started = time.monotonic()
    answer = send_csv(platform, session_id, many(50_000), key)
    seconds = time.monotonic() - started
    assert answer.status_code == 201, answer.text
    assert answer.json()["seats_added"] == 50_000
    assert [block["seats_added"] for block in answer.json()["blocks"]] == [5000] * 10
    assert seconds < 20
    counted = (
        "SELECT count(*), count(DISTINCT (block_id, row_name, number)),"
        " count(DISTINCT left(id::text, 24)), max(row_rank), max(position)"
        " FROM seat WHERE session_id = %s"
    )
    assert owner.rows(counted, session_id) == [(50_000, 50_000, 1, 99, 50)]
    again = send_csv(platform, session_id, many(50_000), key)
    assert (again.status_code, again.content) == (201, answer.content)
    assert again.headers["idempotent-replayed"] == "true"
    problem_of(send_csv(platform, session_id, many(5), key), 422, "idempotency_key_reused")
    assert owner.rows(counted, session_id) == [(50_000, 50_000, 1, 99, 50)]


def test_more_than_fifty_thousand_seats_are_refused(platform: Platform, owner: Owner) -> None:
    session_id = platform.on_sale().session_id
    answer = send_csv(platform, session_id, many(50_001))
    assert errors_of(answer) == [("line 50002", "too_many")]
    layout = {"name": "Stalls", "rows": {"from": "1", "to": "51"}, "seats_per_row": 1000}
    assert errors_of(send_layouts(platform, session_id, layout)) == [("blocks", "too_many")]
    assert labels(owner, session_id) == []


def test_more_than_a_thousand_blocks_are_refused(platform: Platform, owner: Owner) -> None:
    session_id = platform.on_sale().session_id
    lines = [HEADER, *(f"Block {number},A,1" for number in range(1000))]
    too_many = [*lines, "Block 1000,A,1", "Block 0,A,2"]
    answer = send_csv(platform, session_id, "\n".join(too_many))
    assert errors_of(answer) == [("line 1002", "too_many")]
    assert labels(owner, session_id) == []
    assert send_csv(platform, session_id, "\n".join(lines)).json()["seats_added"] == 1000
    more = [HEADER, *(f"Block {number},A,2" for number in range(1000))]
    assert send_csv(platform, session_id, "\n".join(more)).json()["seats_added"] == 1000


def test_sales_go_on_during_an_import(platform: Platform, owner: Owner) -> None:
    """Other sessions are unaffected; the same session goes on once the import ends."""
    hall, elsewhere = platform.hall(2, 50), platform.on_sale(1000)

    def hold(seat_id: str) -> int:
        body = {"session_id": hall.session_id, "seat_ids": [seat_id], "user_id": uuid4().hex}
        return platform.client.post("/api/holds", json=body).status_code

    def place(_: int) -> int:
        return platform.place(elsewhere).status_code

    with ThreadPoolExecutor(4) as crowd:
        importing = crowd.submit(send_csv, platform, hall.session_id, many(10_000))
        others = list(crowd.map(place, range(60)))
        own = list(crowd.map(hold, hall.seat_ids[:60]))
        assert importing.result().status_code == 201
    assert set(others) == {201}
    assert set(own) == {201}
    owner.assert_counters_add_up(platform.organization_id)


def test_one_of_two_concurrent_equal_imports_succeeds(platform: Platform, owner: Owner) -> None:
    session_id = platform.on_sale().session_id
    with ThreadPoolExecutor(2) as both:
        answers = list(both.map(lambda _: send_csv(platform, session_id, many(2000)), range(2)))
    assert sorted(answer.status_code for answer in answers) == [201, 400]
    assert len(labels(owner, session_id)) == 2000


def foreign_sessions(neighbour: Platform) -> Iterable[str]:
    return (neighbour.on_sale().session_id, str(uuid4()), "x")


def test_a_foreign_session_gets_no_seats(platform: Platform, neighbour: Platform) -> None:
    for session_id in foreign_sessions(neighbour):
        answer = send_csv(platform, session_id, f"{HEADER}\nStalls,A,1\n")
        problem_of(answer, 404, "session_not_found")
        layout = {"name": "Stalls", "rows": ["A"], "seats_per_row": 1}
        problem_of(send_layouts(platform, session_id, layout), 404, "session_not_found")
