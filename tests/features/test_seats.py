"""Holding specific seats or the best available, reserving one, and blocking seats."""

from datetime import UTC, datetime, timedelta

from pytest_bdd import given, parsers, scenarios, then, when

from tests.e2e.paying import confirmed
from tests.features.conftest import UNKNOWN_ID
from tests.features.hall_scene import HallScene, hall_scene, names_in
from tests.features.scene import Scene

scenarios("seats.feature", "reserve_seat.feature", "blocked_seats.feature")

LABEL = r'"[A-Z]\d+"'
LABELS = rf"(?P<labels>{LABEL}(?:, {LABEL})*)"
TTL_SECONDS = 600


@given(parsers.parse("a hall with {rows:d} rows of {seats:d} seats"), target_fixture="hall")
def a_hall(scene: Scene, rows: int, seats: int) -> HallScene:
    return hall_scene(scene, rows, seats)


@given(
    parsers.parse(
        "a hall with {rows:d} rows of {seats:d} seats where seats are reserved for "
        "{minutes:d} minutes"
    ),
    target_fixture="hall",
)
def a_hall_with_policy(scene: Scene, rows: int, seats: int, minutes: int) -> HallScene:
    return hall_scene(scene, rows, seats, {"hold_policy": {"ttl_seconds": minutes * 60}})


@given(parsers.re(rf"another customer holds seats? {LABELS}"))
@when(parsers.re(rf"a customer holds seats? {LABELS}"))
def holds_seats(hall: HallScene, labels: str) -> None:
    hall.hold(names_in(labels))


@given(parsers.re(rf"another customer held seat {LABELS} until a minute ago"))
def held_until_a_minute_ago(hall: HallScene, labels: str) -> None:
    hall.hold(names_in(labels))
    hall.scene.owner.let_pass(hall.scene.platform.organization_id, TTL_SECONDS + 60)


@when(parsers.re(rf"a customer holds seats {LABELS} or else the next best"))
def holds_or_an_alternative(hall: HallScene, labels: str) -> None:
    hall.hold(names_in(labels), offer_alternative=True)


@when("the customer holds the seats that were offered")
def holds_the_alternative(hall: HallScene) -> None:
    hall.ask(seat_ids=hall.scene.answer.json()["alternative"]["seat_ids"])


@given(parsers.re(r"another customer asked for the best (?P<count>\d+) seats?"))
@when(parsers.re(r"a customer asks for the best (?P<count>\d+) seats?"))
def asks_for_the_best(hall: HallScene, count: str) -> None:
    hall.best(int(count))


@given(parsers.parse("the hall also has {count:d} standing places"))
def general_admission(hall: HallScene, count: int) -> None:
    body = {"session_id": hall.hall.session_id, "name": "Floor", "price": 1000}
    made = hall.scene.platform.made("/api/ticket-types", body | {"capacity": count})
    hall.standing_id = made["ticket_type_id"]


@when(parsers.re(rf"a customer holds seats {LABELS} and (?P<count>\d+) standing places"))
def holds_both(hall: HallScene, labels: str, count: str) -> None:
    seats = {"seat_ids": hall.hall.seats(*names_in(labels))}
    hall.ask(lines=[seats, {"ticket_type_id": hall.standing_id, "quantity": int(count)}])


@given("customers may have one active hold per session")
def one_active_hold(hall: HallScene) -> None:
    change_event(hall, hold_policy={"one_active_hold": True})


@given(parsers.re(rf'customer "(?P<email>[^"]+)" holds seat {LABELS}'))
@when(parsers.re(rf'customer "(?P<email>[^"]+)" holds seat {LABELS}'))
def this_customer_holds(hall: HallScene, email: str, labels: str) -> None:
    hall.hold(names_in(labels), user_id=None, customer_email=email)


@when("the statistics are read")
def the_statistics_are_read(hall: HallScene) -> None:
    hall.scene.answers.append(hall.scene.platform.client.get("/api/stats"))


@given(parsers.re(rf"a user has reserved seat {LABELS}"))
@when(parsers.re(rf"a user reserves seat {LABELS}"))
@when(parsers.re(rf"the same user reserves seat {LABELS}"))
def a_user_reserves(hall: HallScene, labels: str) -> None:
    (name,) = names_in(labels)
    hall.reserve(hall.hall.seat_path(name), "user")


@when(parsers.re(rf"another user reserves seat {LABELS}"))
def another_user_reserves(hall: HallScene, labels: str) -> None:
    (name,) = names_in(labels)
    hall.reserve(hall.hall.seat_path(name), "another")


@given(parsers.re(rf"2 users have reserved seats {LABELS}"))
def users_have_reserved(hall: HallScene, labels: str) -> None:
    for number, name in enumerate(names_in(labels)):
        hall.reserve(hall.hall.seat_path(name), f"user-{number}")
        assert hall.scene.answer.status_code == 201


@when("a user reserves a seat of an event that does not exist")
def of_an_unknown_event(hall: HallScene) -> None:
    seat_id = hall.hall.seat_ids["Stalls A 1"]
    hall.reserve(f"/api/events/{UNKNOWN_ID}/seats/{seat_id}", "user")


@when("a user reserves a seat that does not exist")
def an_unknown_seat(hall: HallScene) -> None:
    hall.reserve(f"/api/events/{hall.hall.event_id}/seats/{UNKNOWN_ID}", "user")


@when(parsers.parse("{minutes:d} minutes have passed"))
def minutes_have_passed(hall: HallScene, minutes: int) -> None:
    hall.scene.owner.let_pass(hall.scene.platform.organization_id, minutes * 60 + 1)


def change_event(hall: HallScene, **changes: object) -> None:
    path = f"/api/events/{hall.hall.event_id}"
    answer = hall.scene.platform.client.patch(path, json=changes)
    assert answer.status_code == 200, answer.text


@given(parsers.re(r"the event is (?P<status>archived|cancelled)"))
def the_event_is(hall: HallScene, status: str) -> None:
    change_event(hall, status=status)


@given("the sale starts in 1 hour")
def the_sale_starts_later(hall: HallScene) -> None:
    change_event(hall, sale_starts_at=(datetime.now(UTC) + timedelta(hours=1)).isoformat())


@given("the sale ended 1 hour ago")
def the_sale_is_over(hall: HallScene) -> None:
    change_event(hall, sale_ends_at=(datetime.now(UTC) - timedelta(hours=1)).isoformat())


@given(parsers.parse("the block has a capacity of {capacity:d}"))
def the_block_has_a_capacity(hall: HallScene, capacity: int) -> None:
    path = f"/api/blocks/{hall.hall.block_ids['Stalls']}"
    answer = hall.scene.platform.client.patch(path, json={"capacity": capacity})
    assert answer.status_code == 200, answer.text


@given(parsers.re(rf"the operator has (?P<verb>block)ed seats {LABELS}"))
@when(parsers.re(rf"the operator (?P<verb>block|unblock)s seats {LABELS}"))
def the_operator_blocks(hall: HallScene, verb: str, labels: str) -> None:
    hall.block(verb, hall.hall.seats(*names_in(labels)))
    assert hall.scene.answer.status_code == 200, hall.scene.answer.text


@when(parsers.re(rf"the operator blocks seat {LABELS} and one that does not exist"))
def blocks_an_unknown_seat(hall: HallScene, labels: str) -> None:
    hall.block("block", [*hall.hall.seats(*names_in(labels)), UNKNOWN_ID])


@given(parsers.re(rf"seat {LABELS} was sold"))
def was_sold(hall: HallScene, labels: str) -> None:
    names = names_in(labels)
    hall.hold(names)
    assert confirmed(hall.scene.platform, hall.scene.hold).status_code == 200


@then(parsers.re(rf"seats? {LABELS} (is|are) (?P<status>available|held|sold|blocked)"))
def seats_are(hall: HallScene, labels: str, status: str) -> None:
    assert hall.statuses(names_in(labels)) == {status}


@then(parsers.re(rf"the hold shows block, row and number of {LABELS}"))
def the_hold_shows_the_seat(hall: HallScene, labels: str) -> None:
    (line,) = hall.scene.hold["lines"]
    seat = line["seat"]
    shown = f"{seat['block_name']} {seat['row']} {seat['seat_number']}"
    assert [shown] == names_in(labels)


@then("the error says for how long, but not by whom")
@then("the response shows the remaining seconds, but no name")
def learns_for_how_long(hall: HallScene) -> None:
    first, last = hall.scene.sent[0].body, hall.scene.answer
    assert first is not None
    assert 0 < last.json()["expires_in"] <= TTL_SECONDS
    assert last.json()["expires_at"]
    assert f'"{first["user_id"]}"' not in last.text
    assert hall.scene.answers[0].json().get("hold_id", "no id") not in last.text


@then(parsers.re(rf"the contested seats are {LABELS}"))
def contested_seats(hall: HallScene, labels: str) -> None:
    contested = hall.scene.answer.json()["contested_seats"]
    assert hall.hall.names([seat["seat_id"] for seat in contested]) == names_in(labels)


@then(parsers.parse("{count:d} other seats side by side are offered"))
def seats_are_offered(hall: HallScene, count: int) -> None:
    offer = hall.scene.answer.json()["alternative"]
    assert len(offer["seat_ids"]) == count
    assert offer["adjacent"] is True


@then(parsers.parse("the {count:d} seats are side by side"))
def side_by_side(hall: HallScene, count: int) -> None:
    lines = hall.scene.hold["lines"]
    assert (len(lines), hall.scene.hold["adjacent"]) == (count, True)
    assert len({line["seat"]["row"] for line in lines}) == 1
    numbers = sorted(int(line["seat"]["seat_number"]) for line in lines)
    assert numbers == list(range(numbers[0], numbers[0] + count))


@then("no seat is held twice")
def no_seat_twice(hall: HallScene) -> None:
    held = [seat_id for answer in hall.scene.answers for seat_id in answer.json()["seat_ids"]]
    assert len(held) == len(set(held))


@then(parsers.parse("it has {seats:d} seats and {places:d} other places"))
def seats_and_places(hall: HallScene, seats: int, places: int) -> None:
    lines = hall.scene.hold["lines"]
    assert sum(line.get("seat") is not None for line in lines) == seats
    assert sum(line["quantity"] for line in lines if line.get("seat") is None) == places


@then("the error names the existing hold")
def names_the_existing_hold(hall: HallScene) -> None:
    problem = hall.scene.answer.json()
    assert problem["hold_id"] == hall.scene.hold["hold_id"]
    assert 0 < problem["expires_in"] <= TTL_SECONDS


@then(parsers.parse("there is {holds:d} active hold of {seats:d} seats"))
def there_are_holds(hall: HallScene, holds: int, seats: int) -> None:
    found = hall.scene.answer.json()
    assert (found["active_holds"], found["total_held_seats"]) == (holds, seats)


@then(parsers.parse("the reservation is confirmed with a countdown of {seconds:d} seconds"))
def reservation_is_confirmed(hall: HallScene, seconds: int) -> None:
    assert hall.scene.answer.status_code == 201, hall.scene.answer.text
    data = hall.scene.answer.json()["data"]
    assert (data["status"], data["expires_in_seconds"]) == ("held", seconds)


@then("the message says that the seat is reserved for 5 minutes")
def reserved_for_five_minutes(hall: HallScene) -> None:
    message = hall.scene.answer.json()["data"]["message"]
    assert message == "Seat reserved for 5 minutes. Proceed to checkout."


@then("the response is the existing reservation")
def the_reservation_that_exists(hall: HallScene) -> None:
    first, second = hall.scene.answers
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["data"]["hold_id"] == first.json()["data"]["hold_id"]


@then("there is one hold")
def there_is_one_hold(hall: HallScene) -> None:
    page = hall.scene.platform.client.get("/api/holds").json()
    assert len(page["data"]) == 1


@then("the error says that the seat is blocked")
def is_reported_as_blocked(hall: HallScene) -> None:
    assert hall.scene.answer.json()["current_status"] == "blocked"


@then(parsers.parse('the seats are in row "{row}"'))
def seats_are_in_row(hall: HallScene, row: str) -> None:
    assert {line["seat"]["row"] for line in hall.scene.hold["lines"]} == {row}
