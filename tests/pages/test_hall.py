"""The hall in the admin: who sees what, who may block seats, and what people are told."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client
from uuid_utils.compat import uuid7

from holdfast.bootstrap.server import Server
from holdfast.bootstrap.settings import Settings
from holdfast.domain import refusals
from holdfast.domain.access.roles import SCOPES_OF_ROLE, Role
from holdfast.domain.access.scopes import Scope
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Placed
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import SeatAsk
from holdfast.domain.ids import HoldId, OrganizationId, SeatId, SessionId
from holdfast.domain.seats.block_seats import SEATS_PER_BLOCKING_MAX
from holdfast.domain.values import EmailAddress, Holder
from holdfast.entrypoints.admin.apps import AdminConfig
from tests.pages.sales import EMAIL, Sale, insert, new_sale
from tests.pages.staff import browser_of, hire

# Cannot be imported before Django is set up.
MODULES = "holdfast.entrypoints.admin.seats"


@pytest.fixture
def seated(sale: Sale, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sale]:
    """A sale of seats, with an engine."""
    own = [sale.organization_id]
    sale.owner.execute("UPDATE ticket_type SET is_seated = true WHERE organization_id = %s", own)
    server = Server(Settings(database_url=database_url, holdfast_duties="none"))
    server.start()
    monkeypatch.setattr(AdminConfig, "services", server.container)
    yield sale
    server.stop()


@pytest.fixture
def support(seated: Sale, database_url: str) -> Client:
    return browser_of(hire(database_url, seated, "support"))


def address(sale: Sale, rest: str = "") -> str:
    return f"/admin/holdfast/session/{sale.session_id}/hall/{rest}"


def get(client: Client, path: str, **query: str | int) -> str:
    answer = client.get(path, query)
    assert answer.status_code == 200, answer.status_code
    return html.unescape(answer.content.decode())


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script id="hall-data"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


def changes(client: Client, sale: Sale, since: str | int, **query: str | int) -> Any:
    answer = client.get(address(sale, "changes/"), {"since": since, **query})
    assert answer.status_code in {200, 204}, answer.content
    return answer.json() if answer.status_code == 200 else None


def hold(sale: Sale, *seat_ids: UUID, email: str = EMAIL) -> UUID:
    hold_id = HoldId(uuid7())
    command = PlaceHold(
        organization_id=OrganizationId(sale.organization_id),
        session_id=SessionId(sale.session_id),
        hold_id=hold_id,
        holder=Holder(EmailAddress(email)),
        asks=(SeatAsk(tuple(map(SeatId, seat_ids))),),
        origin=Origin("key:1", str(uuid7())),
    )
    answer = AdminConfig.services.submit.submit(command).result(timeout=30)
    assert isinstance(answer.outcome, Placed), answer
    return hold_id


def reference(sale: Sale, hold_id: UUID) -> str:
    row = sale.owner.execute("SELECT reference FROM hold WHERE id = %s", [hold_id]).fetchone()
    assert row is not None
    return str(row[0])


def statuses(sale: Sale) -> list[str]:
    rows = sale.owner.execute(
        "SELECT status FROM seat WHERE session_id = %s ORDER BY row_rank, position",
        [sale.session_id],
    )
    return [status for (status,) in rows]


def ask_to(client: Client, sale: Sale, what: str, *seat_ids: object) -> str:
    """The page that states the consequence."""
    sent = {"seats": ",".join(map(str, seat_ids))}
    answer = client.post(address(sale, f"{what}/"), sent, follow=True)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def confirm(
    client: Client, sale: Sale, what: str, asked: str, reason: str = "Camera position"
) -> str:
    """Submit the form of that page, and return the next page."""
    fields = {
        name: re.search(rf'name="{name}" value="([^"]*)"', asked) for name in ("seats", "version")
    }
    sent = {name: found[1] for name, found in fields.items() if found is not None}
    assert set(sent) == {"seats", "version"}, asked
    answer = client.post(address(sale, f"{what}/"), {**sent, "reason": reason}, follow=True)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def test_the_session_links_to_its_hall(support: Client, seated: Sale) -> None:
    seated.seat("A", 1)
    assert address(seated) in get(support, f"/admin/holdfast/session/{seated.session_id}/change/")


def test_the_page_has_every_seat_with_its_state_place_and_price(
    support: Client, seated: Sale
) -> None:
    first = seated.seat("A", 1)
    held = seated.held_seat("A", 2, uuid7())
    seated.held_seat("A", 3, uuid7(), seconds=-1)
    seated.seat("B", 1, status="blocked", blocked_reason="camera", is_accessible=True)
    data = data_of(get(support, address(seated)))
    (block,) = data["blocks"]
    assert (block["name"], block["price"]) == ("Stalls", "30.75\N{NO-BREAK SPACE}EUR")
    row = block["rows"][0]
    assert [row["prefix"] + ending for ending in row["ids"]][:2] == [str(first), str(held)]
    assert [(row["name"], row["numbers"]) for row in block["rows"]] == [
        ("A", ["1", "2", "3"]),
        ("B", ["1"]),
    ]
    assert data["statuses"] == "ahab", "a lapsed seat is available"
    assert list(data["until"]) == ["1"]
    assert data["marks"] == {"accessible": [3]}
    assert len(data["points"]) == 8


def test_a_session_without_seats_says_so(support: Client, seated: Sale) -> None:
    text = get(support, address(seated))
    assert "This session has no seats" in text
    assert "hall.js" not in text


def test_a_large_hall_opens_on_a_part_of_bounded_size(
    support: Client, seated: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    circle = uuid7()
    own = {"organization_id": seated.organization_id, "session_id": seated.session_id}
    insert(seated.owner, "block", **own, id=circle, name="Circle", rank=1)
    for row in "ABC":
        seated.seat(row, 1)
    seated.seat("A", 1, block_id=circle, status="sold", hold_id=uuid7())
    whole = data_of(get(support, address(seated)))
    assert (whole["isWhole"], len(whole["blocks"])) == (True, 2)
    monkeypatch.setattr(f"{MODULES}.hall_parts.SEATS_PER_PART_MAX", 2)
    text = get(support, address(seated))
    links = re.findall(r'href="\?part=(\d)"[^>]*>([^<]*) <span>([^<]*)', text)
    assert links == [
        ("0", "Stalls, rows A to B", "2 of 2 free"),
        ("1", "Stalls, row C", "1 of 1 free"),
        ("2", "Circle", "0 of 1 free"),
    ]
    shown = [data_of(get(support, address(seated), part=number)) for number in range(3)]
    assert [each["statuses"] for each in shown] == ["aa", "a", "s"]
    assert data_of(text)["blocks"] == shown[0]["blocks"]
    for part in ("3", "x", "-1", "9" * 9):
        assert support.get(address(seated), {"part": part}).status_code == 404


@pytest.mark.parametrize("role", list(Role))
def test_only_those_who_may_block_seats_get_the_tools(
    seated: Sale, database_url: str, role: Role
) -> None:
    seat_id = seated.seat("A", 1)
    client = browser_of(hire(database_url, seated, role.value))
    may_block = Scope.SEATS_BLOCK in SCOPES_OF_ROLE[role]
    assert may_block is (role is not Role.VIEWER)
    assert ('id="hall-form"' in get(client, address(seated))) is may_block
    assert "Stalls, row A, seat 1" in get(client, address(seated, f"seats/{seat_id}/"))
    assert changes(client, seated, 0) is not None
    for what in ("block", "unblock"):
        sent = {"seats": str(seat_id), "reason": "x", "version": "1"}
        answer = client.post(address(seated, f"{what}/"), sent)
        assert (answer.status_code == 403) is not may_block
    assert statuses(seated) == ["available"], "the version was wrong"


def test_nobody_sees_or_changes_a_hall_of_another_organization(
    seated: Sale, database_url: str
) -> None:
    theirs = new_sale(seated.owner)
    their_seat, own_seat = theirs.seat("A", 1), seated.seat("A", 1)
    client = browser_of(hire(database_url, seated, "owner"))
    for rest in ("", "changes/?since=0", f"seats/{their_seat}/", f"seats/{own_seat}/"):
        assert client.get(address(theirs, rest)).status_code == 404, rest
    for rest in (f"seats/{their_seat}/", f"seats/{uuid4()}/", "seats/x/"):
        answer = client.get(address(seated, rest))
        # Django's admin takes a path that is no page for an id, and says that there is none.
        assert answer.status_code in {404, 302}, rest
        assert "Stalls" not in answer.content.decode()
    for what in ("block", "unblock"):
        sent = {"seats": str(their_seat)}
        assert client.post(address(theirs, f"{what}/"), sent).status_code == 404
        assert "no longer in this session" in ask_to(client, seated, what, their_seat)
    assert statuses(theirs) == ["available"]


def test_seats_are_blocked_and_unblocked_with_a_reason(support: Client, seated: Sale) -> None:
    seats = [seated.seat("A", number) for number in (1, 2, 3)]
    asked = ask_to(support, seated, "block", *seats[:2])
    assert "Takes 2 seats off sale: Stalls A 1, 2." in asked
    assert statuses(seated) == ["available"] * 3, "nothing happens before the reason is given"
    assert "Blocked 2 seats: Stalls A 1, 2." in confirm(support, seated, "block", asked)
    assert statuses(seated) == ["blocked", "blocked", "available"]
    details = get(support, address(seated, f"seats/{seats[0]}/"))
    for shown in ("Blocked by", "staff-", "Camera position", "Last changes"):
        assert shown in details
    asked = ask_to(support, seated, "unblock", *seats)
    assert "Puts 2 seats back on sale: Stalls A 1, 2." in asked
    assert "Not blocked, and left alone: Stalls A 3." in asked
    said = confirm(support, seated, "unblock", asked, "Camera moved")
    assert "Unblocked 2 seats: Stalls A 1, 2." in said
    assert "Left alone, because it was not blocked: Stalls A 3." in said
    assert statuses(seated) == ["available"] * 3


def test_the_audit_names_the_person_and_the_reason(seated: Sale, database_url: str) -> None:
    staff = hire(database_url, seated, "support")
    client = browser_of(staff)
    seat_id = seated.seat("A", 1)
    confirm(client, seated, "block", ask_to(client, seated, "block", seat_id))
    row = seated.owner.execute(
        "SELECT actor, acting_user, new ->> 'reason' FROM audit WHERE seat_id = %s", [seat_id]
    ).fetchone()
    assert row == (f"member:{staff.user_id}", staff.username, "Camera position")


def test_the_holds_that_blocking_ends_are_named_first(support: Client, seated: Sale) -> None:
    seats = [seated.seat("A", number) for number in (1, 2, 3, 4)]
    hold_id = hold(seated, *seats[:3])
    asked = ask_to(support, seated, "block", seats[0], seats[3])
    assert "Takes 2 seats off sale: Stalls A 1, 4." in asked
    ends = f"Ends 1 hold at once ({reference(seated, hold_id)}), because of Stalls A 1."
    assert f"{ends} Buyers who gave an address get an e-mail, if e-mails are turned on." in asked
    assert "2 other tickets of it go to the waitlist or back on sale." in asked
    assert "1 hold ended." in confirm(support, seated, "block", asked)
    assert statuses(seated) == ["blocked", "available", "available", "blocked"]


def test_a_sold_seat_stays_sold_when_it_is_blocked_and_unblocked(
    support: Client, seated: Sale
) -> None:
    hold_id = seated.place()
    seat_id = seated.seat("A", 1, status="sold", hold_id=hold_id)
    asked = ask_to(support, seated, "block", seat_id)
    assert "Blocks 1 seat that is sold: Stalls A 1." in asked
    confirm(support, seated, "block", asked)
    assert "Blocked, and sold" in get(support, address(seated, f"seats/{seat_id}/"))
    asked = ask_to(support, seated, "unblock", seat_id)
    assert "back on sale" not in asked
    confirm(support, seated, "unblock", asked)
    assert statuses(seated) == ["sold"]


def test_a_person_whose_page_is_out_of_date_is_told(support: Client, seated: Sale) -> None:
    """Somebody holds a seat after the consequence was shown: their hold must not end unseen."""
    seat_id = seated.seat("A", 1)
    asked = ask_to(support, seated, "block", seat_id)
    hold_id = hold(seated, seat_id)
    again = confirm(support, seated, "block", asked)
    assert "Somebody else has changed these seats meanwhile." in again
    assert f"Ends 1 hold at once ({reference(seated, hold_id)}), because of Stalls A 1." in again
    assert statuses(seated) == ["held"]
    assert "Blocked 1 seat" in confirm(support, seated, "block", again)


def test_the_second_of_two_people_is_told(seated: Sale, database_url: str) -> None:
    one, other = (browser_of(hire(database_url, seated, "support")) for _ in range(2))
    seats = [seated.seat("A", number) for number in (1, 2)]
    pages = [ask_to(client, seated, "block", *seats) for client in (one, other)]
    assert "Blocked 2 seats" in confirm(one, seated, "block", pages[0])
    said = confirm(other, seated, "block", pages[1])
    assert "Nothing to do: Stalls A 1, 2 are blocked already." in said


def test_wrong_choices_are_refused_in_words(support: Client, seated: Sale) -> None:
    seat_id = seated.seat("A", 1)
    said = "Choose seats in the hall first."
    assert said in ask_to(support, seated, "block")
    assert said in ask_to(support, seated, "block", "x")
    too_many = (uuid4() for _ in range(SEATS_PER_BLOCKING_MAX + 1))
    assert "Choose at most 1000 seats at a time." in ask_to(support, seated, "block", *too_many)
    assert "no longer in this session" in ask_to(support, seated, "block", seat_id, uuid4())
    assert "Nothing to do: Stalls A 1 is not blocked." in ask_to(
        support, seated, "unblock", seat_id
    )
    asked = ask_to(support, seated, "block", seat_id, seat_id)
    assert "This field is required." in confirm(support, seated, "block", asked, reason=" ")
    assert "at most 200 characters" in confirm(support, seated, "block", asked, reason="x" * 201)
    assert support.get(address(seated, "block/")).headers["Location"] == address(seated)
    assert statuses(seated) == ["available"]


def test_a_refusal_of_the_engine_is_told_with_the_seats(
    support: Client, seated: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    seats = [seated.seat("A", number) for number in (1, 2)]
    asked = ask_to(support, seated, "block", *seats)
    refusal = refusals.lock_not_available([SeatId(seats[1])])
    monkeypatch.setattr(f"{MODULES}.blocking.act", lambda _: refusal)
    said = confirm(support, seated, "block", asked)
    assert "Nothing was changed." in said
    assert "It is about Stalls A 2." in said
    assert 'name="reason"' in said, "the person can try again"


def test_a_seat_shows_its_hold_and_its_redacted_holder(support: Client, seated: Sale) -> None:
    seat_id = seated.seat("C", 12)
    hold_id = hold(seated, seat_id)
    text = get(support, address(seated, f"seats/{seat_id}/"))
    for shown in (
        "Stalls, row C, seat 12",
        "Held",
        "Until",
        reference(seated, hold_id),
        f"/hold/{hold_id}/change/?organization={seated.organization_id}",
        "b***@example.com",
        "Adult",
        "30.75",
    ):
        assert shown in text
    assert "bartholomew" not in text


def test_a_sold_seat_shows_its_order(support: Client, seated: Sale) -> None:
    hold_id = seated.place()
    order_id = seated.pay(hold_id)
    seat_id = seated.seat("A", 1, status="sold", hold_id=hold_id)
    text = get(support, address(seated, f"seats/{seat_id}/"))
    assert "Sold" in text
    assert f"/order/{order_id}/change/" in text


def test_a_seat_of_a_lapsed_hold_is_available_and_names_nobody(
    support: Client, seated: Sale
) -> None:
    hold_id = seated.place(expires_in=-1)
    seat_id = seated.held_seat("A", 1, hold_id, seconds=-1)
    text = get(support, address(seated, f"seats/{seat_id}/"))
    assert "Available" in text
    assert reference(seated, hold_id) not in text


def test_viewers_see_no_entries_of_the_audit_log(seated: Sale, database_url: str) -> None:
    support, viewer = (
        browser_of(hire(database_url, seated, role)) for role in ("support", "viewer")
    )
    seat_id = seated.seat("A", 1)
    confirm(support, seated, "block", ask_to(support, seated, "block", seat_id))
    path = address(seated, f"seats/{seat_id}/")
    assert "Last changes" in get(support, path)
    text = get(viewer, path)
    assert "Last changes" not in text
    assert "staff-" not in text
    assert "Camera position" in text, "the reason is the seat's"


def test_what_people_enter_is_escaped(support: Client, seated: Sale) -> None:
    seated.owner.execute("UPDATE block SET name = '</script><b>' WHERE id = %s", [seated.block_id])
    seat_id = seated.seat("A", 1)
    raw = support.get(address(seated)).content.decode()
    assert "</script><b>" not in raw
    asked = support.post(address(seated, "block/"), {"seats": str(seat_id)}).content.decode()
    assert "&lt;/script&gt;&lt;b&gt; A 1" in asked
    reason = "<i>x</i>"
    confirm(support, seated, "block", html.unescape(asked), reason)
    fragment = support.get(address(seated, f"seats/{seat_id}/")).content.decode()
    assert reason not in fragment
    assert html.escape(reason) in fragment


def test_the_feed_tells_changes_and_nothing_else(support: Client, seated: Sale) -> None:
    seats = [seated.seat("A", number) for number in (1, 2)]
    version = data_of(get(support, address(seated)))["version"]
    while (found := changes(support, seated, version)) is not None:
        version = found["version"]  # until all older transactions have ended
    hold(seated, seats[1])
    found = changes(support, seated, version)
    ((seat_id, letter, until),) = found["changes"]
    assert (seat_id, letter) == (str(seats[1]), "h")
    assert until > found["at"]


def test_after_too_many_changes_the_feed_has_all_states(
    support: Client, seated: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.adapters.postgres.seats.reader.CHANGES_MAX", 1)
    for number in (1, 2, 3):
        seated.held_seat("A", number, uuid7())
    found = changes(support, seated, 0)
    assert (found["statuses"], list(found["until"])) == ("hhh", ["0", "1", "2"])
    assert changes(support, seated, 0, part=0)["statuses"] == "hhh"
    assert changes(support, seated, 10**18)["statuses"] == "hhh", "a version of another database"
    wrong = {"since": 0, "part": 1}
    assert support.get(address(seated, "changes/"), wrong).status_code == 404


@pytest.mark.parametrize("since", ["", "x", "-1", "1" * 20])
def test_a_wrong_version_is_refused(support: Client, seated: Sale, since: str) -> None:
    assert support.get(address(seated, "changes/"), {"since": since}).status_code == 400


def test_the_hall_needs_a_log_in(seated: Sale) -> None:
    client = Client(SERVER_NAME="localhost")
    for rest in ("", "changes/?since=0", f"seats/{uuid4()}/", "block/"):
        answer = client.get(address(seated, rest))
        assert answer.status_code == 302
        assert "/admin/login/" in answer.headers["Location"]
