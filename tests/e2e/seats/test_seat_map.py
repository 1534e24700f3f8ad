"""The seat map of a session: whole, compact, and the changes since a version."""

import time
from uuid import uuid4

import httpx
import psycopg
import pytest

from holdfast.ports.seats import CHANGES_MAX
from tests.e2e.answers import moment, problem_of
from tests.e2e.halls import NamedHall, build_hall, seats_of, statuses_of
from tests.e2e.owner import Owner
from tests.e2e.paying import confirmed
from tests.support.platform import Json, Platform

SEATS = 20_000
BYTES_MAX = 1_000_000


@pytest.fixture
def hall(platform: Platform) -> NamedHall:
    return build_hall(platform)


def map_path(hall: NamedHall) -> str:
    return f"/api/sessions/{hall.session_id}/seats"


def asked(hall: NamedHall, **headers: str) -> httpx.Response:
    return hall.platform.client.get(map_path(hall), headers=headers)


def changed(hall: NamedHall, since: int) -> dict[str, str]:
    """Name and status of the seats that changed since this version."""
    seats = hall.map(since=since)["seats"]
    names = hall.names([seat["seat_id"] for seat in seats])
    return dict(zip(names, (seat["status"] for seat in seats), strict=True))


def test_a_row_is_a_handful_of_lists(platform: Platform) -> None:
    hall = build_hall(
        platform,
        rows={"Stalls": {"A": 3}, "Box": {"1": 1}},
        blocks={
            "Stalls": {
                "accessible": ["A1", "A3"],
                "companion": ["A2"],
                "restricted_view": ["A3"],
                "capacity": 2,
            }
        },
    )
    hold = hall.hold("Stalls A 2").json()
    seat_map = hall.map()
    assert seat_map.keys() == {"session_id", "version", "complete", "blocks"}
    assert seat_map["complete"] is True
    assert seat_map["session_id"] == hall.session_id
    stalls, box = seat_map["blocks"]
    (row,) = stalls["rows"]
    assert {name: stalls[name] for name in ("block_id", "name", "capacity")} == {
        "block_id": hall.block_ids["Stalls"],
        "name": "Stalls",
        "capacity": 2,
    }
    assert row["seat_numbers"] == ["1", "2", "3"]
    assert row["status"] == "aha"
    assert row["held_until_unix"] == {"1": int(moment(hold["expires_at"]).timestamp())}
    assert (row["accessible"], row["companion"], row["restricted_view"]) == ([0, 2], [1], [2])
    assert len(row["x"]) == 3
    assert isinstance(row["y"], int | float), "all seats of a row share one y"
    assert hall.names([row["seat_id_prefix"] + each for each in row["seat_id_suffixes"]]) == [
        "Stalls A 1",
        "Stalls A 2",
        "Stalls A 3",
    ]
    assert (box["name"], box.get("capacity")) == ("Box", None)
    (only,) = box["rows"]
    assert (only["row"], only["seat_numbers"], only["status"]) == ("1", ["1"], "a")


def test_the_map_reveals_neither_holders_nor_holds(hall: NamedHall) -> None:
    hold = hall.hold("Stalls A 2", customer_email="secret@example.com", user_id="secret").json()
    text = asked(hall).text
    assert "secret" not in text
    assert hold["hold_id"] not in text


def test_every_status_has_its_letter_and_expired_seats_are_available(
    unreaped: Platform, unreaped_owner: Owner
) -> None:
    hall = build_hall(unreaped, rows={"Stalls": {"A": 5}})
    assert hall.hold("Stalls A 1").status_code == 201
    unreaped_owner.let_pass(unreaped.organization_id, 601)
    assert hall.hold("Stalls A 2").status_code == 201
    assert confirmed(unreaped, hall.hold("Stalls A 3").json()).status_code == 200
    assert hall.block("Stalls A 4").status_code == 200
    statuses = statuses_of(hall.map())
    assert "".join(statuses.values()) == "ahsba"
    assert changed(hall, 0)["Stalls A 1"] == "available"


def test_a_session_without_seats_has_an_empty_map(platform: Platform) -> None:
    sale = platform.on_sale(1)
    path = f"/api/sessions/{sale.session_id}/seats"
    answer = platform.client.get(path)
    empty_map = {"session_id": sale.session_id, "version": 1, "complete": True, "blocks": []}
    assert answer.json() == empty_map
    assert platform.client.get(path, params={"since": 1}).json()["seats"] == []
    block = {"session_id": sale.session_id, "name": "Stalls"}
    block_id = platform.made("/api/blocks", block)["block_id"]
    (empty,) = platform.client.get(path).json()["blocks"]
    assert empty == {"block_id": block_id, "name": "Stalls", "rows": []}


def test_an_unknown_or_foreign_session_is_404(hall: NamedHall, neighbour: Platform) -> None:
    for query in ({}, {"since": 1}):
        for client, session_id in (
            (hall.platform.client, str(uuid4())),
            (hall.platform.client, "x"),
            (neighbour.client, hall.session_id),
        ):
            answer = client.get(f"/api/sessions/{session_id}/seats", params=query)
            problem_of(answer, 404, "session_not_found")


def test_an_unchanged_map_is_304(hall: NamedHall) -> None:
    first = asked(hall)
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "private, no-cache"
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = asked(hall, **{"If-None-Match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
    assert asked(hall, **{"If-None-Match": '"other"'}).content == first.content
    hall.hold("Stalls A 1")
    after = asked(hall, **{"If-None-Match": tag})
    assert after.status_code == 200
    assert after.headers["etag"] != tag


def test_an_expiry_changes_the_etag_although_it_changes_no_row(
    unreaped: Platform, unreaped_owner: Owner
) -> None:
    hall = build_hall(unreaped, event={"hold_policy": {"ttl_seconds": 1}})
    hall.hold("Stalls A 1")
    first = asked(hall)
    assert statuses_of(first.json())["Stalls A 1"] == "h"
    time.sleep(2.1)
    again = asked(hall, **{"If-None-Match": first.headers["etag"]})
    assert again.status_code == 200
    assert again.json()["version"] == first.json()["version"]
    assert statuses_of(again.json())["Stalls A 1"] == "a"


def test_the_map_lists_changes_since_a_version(hall: NamedHall) -> None:
    version = hall.map()["version"]
    assert version > 0
    assert changed(hall, version) == {}
    hold = hall.hold("Stalls A 1", "Stalls B 2").json()
    assert changed(hall, version) == {"Stalls A 1": "held", "Stalls B 2": "held"}
    answer = hall.map(since=version)
    assert answer.keys() == {"session_id", "version", "complete", "seats"}
    assert answer["complete"] is False
    until = int(moment(hold["expires_at"]).timestamp())
    assert answer["seats"][0].keys() == {"seat_id", "status", "held_until_unix", "version"}
    assert {seat["held_until_unix"] for seat in answer["seats"]} == {until}
    assert {seat["version"] for seat in answer["seats"]} == {2}
    later = answer["version"]
    hall.platform.client.post(f"/api/holds/{hold['hold_id']}/release")
    hall.block("Stalls A 3")
    since = changed(hall, later)
    assert since == {
        "Stalls A 1": "available",
        "Stalls B 2": "available",
        "Stalls A 3": "blocked",
    }


def test_many_changes_are_answered_with_the_whole_map(platform: Platform) -> None:
    rows = {str(row): 100 for row in range(1 + CHANGES_MAX // 100)}
    hall = build_hall(platform, rows={"Stalls": rows})
    whole = asked(hall)
    answer = platform.client.get(map_path(hall), params={"since": 0})
    assert answer.json()["complete"] is True
    assert answer.content == whole.content
    assert answer.headers["etag"] == whole.headers["etag"]
    again = {"If-None-Match": whole.headers["etag"]}
    assert (
        platform.client.get(map_path(hall), params={"since": 0}, headers=again).status_code == 304
    )
    hall.hold("Stalls 3 14")
    assert changed(hall, whole.json()["version"]) == {"Stalls 3 14": "held"}


def test_changes_up_to_the_limit_are_listed(platform: Platform) -> None:
    hall = build_hall(
        platform, rows={"Stalls": {str(row): 100 for row in range(CHANGES_MAX // 100)}}
    )
    answer = platform.client.get(map_path(hall), params={"since": 0}).json()
    assert answer["complete"] is False
    assert len(answer["seats"]) == CHANGES_MAX


def test_a_cached_map_follows_every_change(hall: NamedHall, platform: Platform) -> None:
    """Held and blocked seats, and a block's name."""
    block_id = hall.block_ids["Stalls"]

    def shown() -> Json:
        return dict(hall.map()["blocks"][0])

    assert "h" not in shown()["rows"][0]["status"]
    hall.hold("Stalls A 1")
    assert shown()["rows"][0]["status"][0] == "h"
    platform.client.patch(f"/api/blocks/{block_id}", json={"name": "Orchestra"})
    assert shown()["name"] == "Orchestra"
    hall.block("Stalls A 2")
    assert shown()["rows"][0]["status"][1] == "b"


def test_a_cached_map_shows_a_capacity_changed_through_its_pool(platform: Platform) -> None:
    hall = build_hall(platform, blocks={"Stalls": {"capacity": 5}})
    assert hall.map()["blocks"][0]["capacity"] == 5
    pools = platform.client.get("/api/pools", params={"session_id": hall.session_id})
    (pool,) = pools.json()["data"]
    resized = platform.client.patch(f"/api/pools/{pool['pool_id']}", json={"capacity": 4})
    assert resized.status_code == 200, resized.text
    assert hall.map()["blocks"][0]["capacity"] == 4


def test_the_version_stays_while_nothing_changes(hall: NamedHall, neighbour: Platform) -> None:
    version = hall.map()["version"]
    other = build_hall(neighbour)
    other.hold("Stalls A 1")
    assert hall.map()["version"] == hall.map(since=version)["version"] == version


def test_a_late_commit_is_not_missed(hall: NamedHall, owner: Owner) -> None:
    """Transactions commit out of order: the reader looks between the second and the first."""
    first, second = hall.seats("Stalls A 1", "Stalls A 2")
    block = (
        "UPDATE seat SET status = 'blocked', blocked_reason = 'slow', version = version + 1,"
        " changed_xid = pg_current_xact_id() WHERE id = %s"
    )
    with psycopg.connect(owner.database_url) as slow:
        slow.execute(block, [first])
        owner.run(block, second)
        seen = hall.map()
        assert statuses_of(seen)["Stalls A 1"] == "a"
        assert statuses_of(seen)["Stalls A 2"] == "b"
        assert changed(hall, seen["version"]) == {"Stalls A 2": "blocked"}, (
            "a change may be reported twice"
        )
    assert changed(hall, seen["version"])["Stalls A 1"] == "blocked"


def test_a_reader_that_follows_the_changes_always_has_the_map(hall: NamedHall) -> None:
    seen = hall.map()
    letters, version = statuses_of(seen), seen["version"]
    holds: list[Json] = []
    for step in range(12):
        if step % 3 == 2:
            hall.platform.client.post(f"/api/holds/{holds.pop()['hold_id']}/release")
        else:
            holds.append(hall.best(1 + step % 2).json())
        answer = hall.map(since=version)
        version = answer["version"]
        for seat in answer["seats"]:
            (name,) = hall.names([seat["seat_id"]])
            letters[name] = seat["status"][0]
        assert letters == statuses_of(hall.map())


@pytest.mark.parametrize("since", ["-1", "x", "1.5", "", str(2**63), "999999999999"])
def test_an_invalid_version_is_400(hall: NamedHall, since: str) -> None:
    answer = hall.platform.client.get(map_path(hall), params={"since": since})
    problem = problem_of(answer, 400, "invalid_cursor")
    assert problem["errors"][0]["field"] == "since"


def test_twenty_thousand_held_seats_fit_in_a_megabyte(platform: Platform, owner: Owner) -> None:
    large = platform.hall(400, 50)
    owner.run(
        "UPDATE seat SET status = 'held', hold_id = gen_random_uuid(),"
        " holder_key = gen_random_uuid(), locked_at = now(), version = 2,"
        " held_until = date_trunc('second', now()) + (300 + position) * interval '1 second',"
        " changed_xid = pg_current_xact_id() WHERE session_id = %s",
        large.session_id,
    )
    path = f"/api/sessions/{large.session_id}/seats"
    started = time.monotonic()
    answer = platform.client.get(path)
    seconds = time.monotonic() - started
    seat_map = answer.json()
    assert len(seats_of(seat_map)) == SEATS
    assert set(statuses_of(seat_map).values()) == {"h"}
    held = [row["held_until_unix"] for block in seat_map["blocks"] for row in block["rows"]]
    assert sum(map(len, held)) == SEATS
    assert len(answer.content) < BYTES_MAX
    assert seconds < 2
    print(f"{len(answer.content)} bytes in {seconds * 1000:.0f} ms")  # noqa: T201
