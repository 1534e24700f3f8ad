"""Why was she refused: her attempts in order, what she asked for, the reason in words, and what she
did next."""

import html
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.test.utils import override_settings

from holdfast.adapters.postgres.audit.reader import PostgresAudit
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.values import EmailAddress, Holder
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.ports.privacy.addresses import Addresses
from tests.pages.sales import Sale, insert, new_sale
from tests.pages.staff import browser_of, hire
from tests.support.patience import PATIENCE_SECONDS

HASHES = HolderHashes("a secret of the installation, 32")
ADA = "ada@example.com"
X = "\N{MULTIPLICATION SIGN}"
EARLIER = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=3)


@pytest.fixture(autouse=True)
def services(sale: Sale, database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    own = AdminConfig.services
    monkeypatch.setattr(own, "audit", PostgresAudit(database, HASHES), raising=False)
    monkeypatch.setattr(own, "orders", PostgresOrders(database), raising=False)
    with override_settings(HOLDFAST_ADDRESSES=Addresses(hashes=HASHES)):
        yield


@pytest.fixture
def support(database_url: str, sale: Sale) -> Client:
    return browser_of(hire(database_url, sale, "support"))


def holder_of(sale: Sale, email: str = ADA, user_id: str | None = None) -> dict[str, Any]:
    own = OrganizationId(sale.organization_id)
    holder, by_email = HASHES.of(own, Holder(EmailAddress(email), user_id))
    return {"holder": holder, "holder_email": by_email}


def refused(sale: Sale, code: str, minutes: int = 0, **values: Any) -> None:
    """A refused attempt of Ada, `minutes` after the first."""
    row = {
        "organization_id": sale.organization_id,
        "at": EARLIER + timedelta(minutes=minutes),
        "action": "hold.create_failed",
        "session_id": sale.session_id,
        "ticket_type_ids": [sale.ticket_type_id],
        "actor": "key:1",
        "request_id": "request-1",
        **holder_of(sale),
    }
    details = values.pop("details", {})
    new = json.dumps({"error": code, "quantity": 4, **details})
    insert(sale.owner, "audit", **(row | values), new=new)


def done(
    sale: Sale, action: str, minutes: int, hold_id: UUID, quantity: int = 2, **values: Any
) -> None:
    row = {
        "organization_id": sale.organization_id,
        "at": EARLIER + timedelta(minutes=minutes),
        "action": action,
        "hold_id": hold_id,
        "session_id": sale.session_id,
        "actor": "key:1",
        "request_id": "request-2",
        "new": json.dumps({"status": "active", "quantity": quantity}),
        **holder_of(sale),
    }
    insert(sale.owner, "audit", **(row | values))


def place(sale: Sale, **values: Any) -> UUID:
    """A hold of Ada; its only entry in the audit log is from now on."""
    key = HASHES.address_key(OrganizationId(sale.organization_id).int, ADA)
    return sale.place(ADA, email_key=key, **values)


def read(client: Client, url: str) -> str:
    """The text of the page, in one line."""
    answer = client.get(url)
    assert answer.status_code == 200, answer.content
    content = answer.content.decode().partition('<div id="content"')[2]
    words = html.unescape(re.sub(r"<[^>]+>", " ", content))
    return re.sub(r"\s+([.,)])", r"\1", re.sub(r"\s+", " ", words))


def why(client: Client, text: str = ADA) -> str:
    """Find the person, then follow the link."""
    found = client.post("/admin/find/", {"find": text}).headers["Location"]
    return read(client, found.replace("/person/", "/attempts/"))


def session_url(sale: Sale) -> str:
    return f"/admin/find/attempts/?organization={sale.organization_id}&session={sale.session_id}"


def test_every_refusal_has_a_sentence(sale: Sale, support: Client) -> None:
    from holdfast.entrypoints.admin.find.refusal_words import WORDS

    missing = [code.value for code in RefusalCode if code not in WORDS]
    assert not missing, "add a sentence to entrypoints/admin/find/refusal_words.py"
    for number, code in enumerate(RefusalCode):
        refused(sale, code.value, number)
    text = why(support)
    assert text.count("Refused ") == len(RefusalCode)
    assert "None" not in text
    for code in RefusalCode:
        assert code.value not in text, "a code is not a sentence"


def test_a_sentence_ends_with_a_full_stop(sale: Sale) -> None:
    from holdfast.entrypoints.admin.find.refusal_words import WORDS

    assert not [words for words in WORDS.values() if isinstance(words, str) and words[-1] != "."]


def seat(sale: Sale, number: int, **more: str) -> dict[str, str]:
    named = {"block_name": "Parterre", "row": "B", "seat_number": str(number), "status": "held"}
    return {**named, **more}


OVER = {"current_status": "converted"}
UNTIL = (EARLIER + timedelta(minutes=4)).isoformat()
NEXT_DAY = (EARLIER + timedelta(days=2)).isoformat()
SENTENCES: dict[str, tuple[str, dict[str, Any], str]] = {
    "too few": (
        "insufficient_inventory",
        {"available_quantity": 2},
        f"Asked for 4 {X} Adult, 2 were left.",
    ),
    "one left": (
        "insufficient_inventory",
        {"available_quantity": 1},
        f"Asked for 4 {X} Adult, 1 was left.",
    ),
    "sold out": (
        "insufficient_inventory",
        {"available_quantity": 0},
        f"Asked for 4 {X} Adult, but it was sold out.",
    ),
    "limit": (
        "holder_limit_reached",
        {"policy": "holder_units_max", "limit": 6, "current": 5},
        "Limit of 6 tickets per customer reached: the customer had 5 and asked for 4 more.",
    ),
    "holds": (
        "holder_limit_reached",
        {"policy": "holder_holds_max", "limit": 1, "current": 1},
        "Limit of 1 hold per customer reached: the customer had 1.",
    ),
    "uncounted": (
        "holder_limit_reached",
        {"policy": "holder_holds_max"},
        "Limit of holds per customer reached: there were too many to count.",
    ),
    "in one hold": (
        "quantity_above_maximum",
        {"maximum": 3},
        f"Asked for 4 {X} Adult, but one hold may have at most 3.",
    ),
    "block": (
        "block_at_capacity",
        {"block_name": "Balcony", "available_quantity": 1},
        f"Asked for 4 {X} Adult, but Balcony had room for only 1.",
    ),
    "waitlist": (
        "waiting_places_exceeded",
        {"maximum": 2},
        "Limit of 2 places on the waitlist per customer reached.",
    ),
    "cooldown": (
        "holder_cooldown",
        {"retry_after_seconds": 30},
        "The customer gave up tickets shortly before, and had to wait another 30 seconds.",
    ),
    "extension": (
        "extension_limit_reached",
        {"limit": 2, "expires_at": UNTIL},
        f"The hold had been extended 2 times, and could not be extended beyond {UNTIL[11:16]}.",
    ),
    "another day": (
        "extension_limit_reached",
        {"expires_at": NEXT_DAY},
        f"The hold could not be extended beyond {NEXT_DAY[:10]} {NEXT_DAY[11:16]}.",
    ),
    "not on sale": ("event_not_available", {}, "The event was not on sale."),
    "fields": (
        "validation_error",
        {"errors": [{"field": "seat_ids", "code": "too_short"}]},
        "The shop sent a request that was not valid. Invalid: seat_ids (too_short).",
    ),
    "unknown": ("some_code_of_tomorrow", {}, "some_code_of_tomorrow."),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_the_reason_is_a_sentence(sale: Sale, support: Client, case: str) -> None:
    code, details, sentence = SENTENCES[case]
    refused(sale, code, details=details)
    text = why(support)
    assert f"Refused {sentence} Then" in text
    assert f"For Winter concerts: Friday Asked for 4 {X} Adult" in text


def test_contested_seats_are_named(sale: Sale, support: Client) -> None:
    seats = [str(sale.seat("B", number)) for number in (12, 13)]
    contested = [seat(sale, 12, expires_at=UNTIL), seat(sale, 13, status="sold")]
    details = {"seat_ids": seats, "quantity": 2, "contested_seats": contested}
    refused(sale, "seat_not_available", action="seat_reserve_failed", details=details)
    text = why(support)
    assert "Asked for Stalls B 12, Stalls B 13 Refused" in text
    until = UNTIL[11:16]
    assert f"Seat Parterre B 12 was held by somebody else until {until}." in text
    assert "Seat Parterre B 13 was sold." in text


@pytest.mark.parametrize(
    ("starts", "ends", "said"),
    [(1, 2, "The sale had not started."), (-2, -1, "The sale had ended"), (-1, 1, "was not open")],
)
def test_the_sale_was_closed(
    sale: Sale, support: Client, starts: int, ends: int, said: str
) -> None:
    sale.owner.execute(
        "UPDATE event SET sale_starts_at = %s, sale_ends_at = %s WHERE organization_id = %s",
        [EARLIER + timedelta(days=starts), EARLIER + timedelta(days=ends), sale.organization_id],
    )
    refused(sale, "event_sales_closed")
    assert said in why(support)


def test_attempts_are_in_order_with_what_happened_next(sale: Sale, support: Client) -> None:
    hold_id = place(sale, reference="G9TIT2")
    refused(sale, "insufficient_inventory", 0, details={"available_quantity": 2, "times": 3})
    refused(sale, "holder_cooldown", 2, details={"retry_after_seconds": 9})
    done(sale, "hold.waiting", 3, hold_id)
    done(sale, "hold.promoted", 5, hold_id)
    done(sale, "hold.converted", 6, hold_id)
    refused(
        sale, "invalid_hold_state", 8, action="hold.extend_failed", hold_id=hold_id, details=OVER
    )
    text = why(support)
    first, second, third = (
        f"{EARLIER + timedelta(minutes=m):%Y-%m-%d %H:%M:%S}" for m in (0, 2, 8)
    )
    assert text.index(first) < text.index(second) < text.index(third)
    assert f"{first} 3 times" in text
    at = [f"{EARLIER + timedelta(minutes=minute):%H:%M:%S}" for minute in range(7)]
    assert f"Tried again at {at[2]}." in text
    chain = f"Joined the waitlist at {at[3]}, got 2 tickets from the waitlist at {at[5]}"
    assert f"{chain}, paid at {at[6]}" in text
    assert "(hold G9TIT2)." in text
    assert "Asked for More time for hold G9TIT2" in text
    assert "Refused Hold G9TIT2 was already converted." in text


def test_somebody_who_never_came_back_gave_up(sale: Sale, support: Client) -> None:
    refused(sale, "event_not_available")
    assert "Then Gave up: nothing more for this session." in why(support)


def test_somebody_who_was_just_refused_may_still_try(sale: Sale, support: Client) -> None:
    minutes_since = int((datetime.now(UTC) - EARLIER).total_seconds() // 60)
    refused(sale, "event_not_available", minutes_since)
    assert "Then Nothing more so far." in why(support)


def test_a_hold_in_another_session_is_not_what_happened_next(sale: Sale, support: Client) -> None:
    refused(sale, "event_not_available")
    other = new_sale(sale.owner)
    done(sale, "hold.created", 5, place(sale))
    refused(sale, "event_unavailable", 10, session_id=other.session_id)
    text = why(support)
    assert text.count("Got 2 tickets") == 1
    assert text.count("Gave up") == 1


def test_attempts_are_found_by_user_id_and_by_address(sale: Sale, support: Client) -> None:
    refused(sale, "event_not_available", **holder_of(sale, user_id="u1"))
    for text in ("u1", ADA):
        assert "The event was not on sale." in why(support, text)


def test_the_pages_of_a_hold_and_of_a_session_lead_there(
    sale: Sale, support: Client, database_url: str
) -> None:
    hold_id = place(sale, user_id="u1")
    refused(sale, "event_not_available", 0)
    refused(sale, "event_unavailable", 1, **holder_of(sale, "other@example.com", "u1"))
    viewer = browser_of(hire(database_url, sale, "viewer"))
    for path, name in (
        (f"/admin/holdfast/hold/{hold_id}/change/", "Refused attempts"),
        (f"/admin/holdfast/session/{sale.session_id}/change/", "Refused attempts"),
    ):
        page = support.get(path).content.decode()
        found = re.search(rf'href="([^"]+)">{re.escape(name)}', page)
        assert found is not None, name
        text = read(support, html.unescape(found[1]))
        assert "The event was not on sale." in text
        assert "The event or the session had been cancelled." in text, "by address and by user id"
        assert name not in viewer.get(path).content.decode()


def test_a_session_shows_everybodys_attempts(sale: Sale, support: Client) -> None:
    bob = holder_of(sale, "bob@example.com")
    hold_id = place(sale, reference="ADAS23")
    refused(sale, "event_not_available", 0)
    refused(sale, "event_unavailable", 1, **bob)
    refused(sale, "empty_cart", 2, holder=None, holder_email=None)
    done(sale, "hold.created", 3, hold_id)
    text = read(support, session_url(sale))
    ada, of_bob, nobody = text.split("Refused ")[1:]
    assert "Got 2 tickets" in ada
    assert "Gave up" in of_bob
    assert "Not known: the attempt named no customer." in nobody
    one = read(support, f"{session_url(sale)}&holder={bob['holder']}")
    assert one.count("Refused ") == 1
    assert "The event or the session had been cancelled." in one
    assert "Show everybody" in one


def test_what_is_too_far_back_is_not_guessed(
    sale: Sale, support: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.entrypoints.admin.find.attempts.ENTRIES_MAX", 2)
    refused(sale, "event_not_available", 0)
    for minute in (3, 4, 5):
        done(sale, "hold.changed", minute, place(sale))
    other = holder_of(sale, "bob@example.com")
    refused(sale, "event_unavailable", 1, **other)
    text = read(support, session_url(sale))
    assert "Not known: too many entries since then." in text
    assert "Gave up" not in text


def read_in_rounds(monkeypatch: pytest.MonkeyPatch, rounds: int) -> None:
    """Of two entries each."""
    monkeypatch.setattr("holdfast.adapters.postgres.audit.reader.EXAMINED_MAX", 2)
    monkeypatch.setattr("holdfast.entrypoints.admin.find.attempts.ROUNDS_MAX", rounds)
    monkeypatch.setattr("holdfast.entrypoints.admin.find.attempts.SECONDS_MAX", PATIENCE_SECONDS)


def test_nobody_gave_up_as_far_as_nothing_was_read(
    sale: Sale, support: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What happened in another session hides what happened in this one."""
    refused(sale, "event_not_available", 0)
    hold_id = place(sale)
    done(sale, "hold.created", 1, hold_id)
    for minute in (3, 4, 5):
        done(sale, "hold.changed", minute, hold_id, session_id=uuid4())
    read_in_rounds(monkeypatch, 1)
    text = read(support, session_url(sale))
    assert "Not known: too many entries since then." in text
    assert "Gave up" not in text
    read_in_rounds(monkeypatch, 10)
    assert "Got 2 tickets" in read(support, session_url(sale))


def test_a_search_that_stopped_early_does_not_say_that_there_is_nothing(
    sale: Sale, support: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(sale, "event_not_available", 0)
    for minute in (1, 2, 3):
        refused(sale, "event_unavailable", minute, session_id=uuid4())
    read_in_rounds(monkeypatch, 1)
    text = read(support, session_url(sale))
    assert "None among the newest refused attempts." in text
    assert "there may be older ones in the audit log." in text
    assert "No refused attempts" not in text
    assert "outcome=refused" in support.get(session_url(sale)).content.decode()
    read_in_rounds(monkeypatch, 10)
    assert "The event was not on sale." in read(support, session_url(sale))


def test_the_newest_attempts_are_shown(
    sale: Sale, support: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.entrypoints.admin.find.attempts.ATTEMPTS_MAX", 2)
    for minute in range(4):
        refused(sale, "event_not_available", minute, details={"quantity": 10 + minute})
    for text in (why(support), read(support, session_url(sale))):
        shown = re.findall(rf"Asked for (\d+) {X} Adult", text)
        assert shown == ["12", "13"]
        assert "Older ones are in the audit log." in text


def test_nobody_else_sees_attempts(sale: Sale, support: Client) -> None:
    other = new_sale(sale.owner)
    refused(other, "event_not_available", **holder_of(other))
    assert support.get(session_url(other)).status_code == 403
    mixed = f"?organization={sale.organization_id}&session={other.session_id}"
    assert support.get(f"/admin/find/attempts/{mixed}").status_code == 404
    holder = holder_of(other)["holder"]
    text = read(
        support, f"/admin/find/attempts/?organization={sale.organization_id}&holder={holder}"
    )
    assert "No refused attempts." in text


def test_the_address_is_nowhere_on_the_page(sale: Sale, support: Client) -> None:
    place(sale)
    refused(sale, "event_not_available")
    found = support.post("/admin/find/", {"find": ADA}).headers["Location"]
    page = support.get(found.replace("/person/", "/attempts/")).content.decode()
    assert "a***@example.com" in page
    assert ADA not in page
