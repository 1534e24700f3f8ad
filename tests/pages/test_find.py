"""One box finds holds, orders, tickets, seats and people, by whatever a buyer names on the phone.
The search is posted, and never in a URL."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib import admin
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from uuid_utils.compat import uuid7

from holdfast.adapters.postgres.audit.reader import PostgresAudit
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.domain.holder_hash import NO_HASHES, HolderHashes
from holdfast.domain.ids import OrganizationId
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.find.sealed_search import opened, sealed
from holdfast.ports.privacy.addresses import Addresses
from tests.pages.sales import EMAIL, Sale, insert, new_sale
from tests.pages.staff import browser_of, hire

OLD, NEW = "an old secret of the installation", "a secret of the installation, 32"
HASHES = HolderHashes(NEW, OLD)
ADA = "ada@example.com"


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


def key_of(sale: Sale, email: str, hashes: HolderHashes = HASHES) -> str:
    return hashes.address_key(OrganizationId(sale.organization_id).int, email)


def place(sale: Sale, email: str = ADA, hashes: HolderHashes = HASHES, **values: Any) -> UUID:
    return sale.place(email, email_key=key_of(sale, email, hashes), **values)


def pay(sale: Sale, hold_id: UUID, email: str = ADA, **values: Any) -> UUID:
    return sale.pay(hold_id, email_key=key_of(sale, email), **values)


def find(client: Client, text: str, **more: object) -> HttpResponse:
    answer = client.post("/admin/find/", {"find": text, **more})
    assert isinstance(answer, HttpResponse)
    return answer


def target(client: Client, text: str, **more: object) -> str:
    answer = find(client, text, **more)
    assert answer.status_code == 302, answer.content
    return answer.headers["Location"]


def shown(client: Client, text: str, **more: object) -> str:
    """The page that the search leads to."""
    answer = client.get(target(client, text, **more))
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def page_of(model: str, row_id: UUID, sale: Sale) -> str:
    own = f"?organization={sale.organization_id}"
    return f"/admin/holdfast/{model}/{row_id}/change/{own}"


def code_of(sale: Sale, order_id: UUID) -> str:
    row = sale.owner.execute("SELECT code FROM ticket WHERE order_id = %s", [order_id]).fetchone()
    assert row is not None
    return str(row[0])


def test_every_page_has_the_box(support: Client, operator: Client) -> None:
    for client in (support, operator):
        for path in ("/admin/", "/admin/holdfast/hold/", "/admin/account/", "/admin/find/"):
            text = client.get(path).content.decode()
            assert text.count('id="find-box"') == 1, path
            assert '<label for="find-box"' in text
    assert "find-box" not in Client(SERVER_NAME="localhost").get("/admin/login/").content.decode()


def test_a_single_match_leads_to_its_page(support: Client, sale: Sale) -> None:
    hold_id = place(sale, reference="K7M2QX", user_id=None)
    order_id = pay(sale, place(sale, EMAIL), EMAIL, payment_reference="pi_3 A/b")
    seat_id = sale.seat("B", 12)
    hold, order = page_of("hold", hold_id, sale), page_of("order", order_id, sale)
    assert target(support, "K7M2QX") == hold
    assert target(support, " k7m2qx ") == hold
    assert target(support, str(hold_id)) == hold
    assert target(support, str(order_id)) == order
    assert target(support, "pi_3 A/b") == order
    assert target(support, code_of(sale, order_id)) == order
    for name in (
        "B12",
        "b 12",
        "Stalls B 12",
        "stalls, row B, seat 12",
        "Stalls B12",
        str(seat_id),
    ):
        assert target(support, name) == page_of("seat", seat_id, sale), name
    for url in (hold, order, page_of("seat", seat_id, sale)):
        assert support.get(url).status_code == 200, url


@pytest.mark.parametrize("name", ["B13", "Balcony B 12", "12", "B", "Stalls", "row B", "C12"])
def test_another_seat_is_not_found(support: Client, sale: Sale, name: str) -> None:
    seat = str(sale.seat("B", 12))
    text = shown(support, name)
    assert seat not in text
    assert "Nothing found for" in text


def test_a_seat_is_found_in_each_of_the_next_sessions(support: Client, sale: Sale) -> None:
    event = sale.owner.execute(
        "SELECT event_id FROM session WHERE id = %s", [sale.session_id]
    ).fetchone()
    assert event is not None
    seats = {}
    for name, days in (("Later", 9), ("Sooner", 2), ("Over", -3)):
        session, block = uuid7(), uuid7()
        own = {"organization_id": sale.organization_id}
        starts = datetime.now(UTC) + timedelta(days=days)
        insert(
            sale.owner, "session", **own, id=session, event_id=event[0], name=name, starts_at=starts
        )
        insert(sale.owner, "block", **own, id=block, session_id=session, name="Stalls", rank=0)
        seats[name] = sale.seat("B", 12, session_id=session, block_id=block)
    text = shown(support, "B12")
    assert str(seats["Over"]) not in text
    assert text.index(f"{seats['Sooner']}/change") < text.index(f"{seats['Later']}/change")


def test_a_search_for_a_seat_says_how_far_it_went(
    support: Client, sale: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    (event,) = sale.owner.execute(
        "SELECT event_id FROM session WHERE id = %s", [sale.session_id]
    ).fetchall()[0]
    own = {"organization_id": sale.organization_id, "event_id": event, "name": "Sooner"}
    insert(sale.owner, "session", **own, id=uuid7(), starts_at=datetime.now(UTC))
    sale.seat("B", 12)
    for count, is_said in ((1, True), (2, False)):
        monkeypatch.setattr("holdfast.entrypoints.admin.find.seats.SESSIONS_MAX", count)
        text = shown(support, "B13")
        assert "Nothing found for" in text
        assert ("Seats were looked for in the next" in text) is is_said


def test_a_held_seat_names_its_hold(support: Client, sale: Sale) -> None:
    hold_id = place(sale, reference="HELD23")
    sale.held_seat("B", 12, hold_id)
    sale.seat("B", 12, block_id=sale.block_id, x=99)  # a second match, so that there is a list
    text = shown(support, "B12")
    assert "HELD23" in text
    assert "held" in text
    assert "Winter concerts: Friday" in text


@pytest.mark.parametrize("text", [ADA, " ADA@example.com "])
def test_a_person_is_found_by_address(support: Client, sale: Sale, text: str) -> None:
    hold_id, other = place(sale), place(sale, EMAIL)
    order_id = pay(sale, place(sale))
    url = target(support, text)
    assert url.startswith("/admin/find/person/?")
    page = support.get(url).content.decode()
    assert str(hold_id) in page
    assert str(order_id) in page
    assert str(other) not in page
    assert "a***@example.com" in page
    assert "ada@" not in page


def test_a_person_is_found_by_user_id(support: Client, sale: Sale) -> None:
    hold_id, other = place(sale, user_id="u 1"), place(sale, EMAIL, user_id="u 12")
    page = shown(support, "u 1")
    assert (str(hold_id) in page, str(other) in page) == (True, False)


def test_only_whole_addresses_find_a_person(support: Client, sale: Sale) -> None:
    place(sale)
    for text in ("da@example.com", "ada@", "ada", "@example.com"):
        assert "Nothing found for" in shown(support, text)


@pytest.mark.parametrize("hashes", [HolderHashes(OLD), NO_HASHES])
def test_people_of_an_older_secret_are_found(
    support: Client, sale: Sale, hashes: HolderHashes
) -> None:
    hold_id = place(sale, hashes=hashes)
    current = HASHES if hashes is not NO_HASHES else NO_HASHES
    with override_settings(HOLDFAST_ADDRESSES=Addresses(hashes=current)):
        assert str(hold_id) in shown(support, ADA)


@pytest.mark.parametrize("model", ["hold", "order", "auditentry"])
def test_the_lists_show_one_persons_rows(support: Client, sale: Sale, model: str) -> None:
    paid = place(sale)
    order_id, other = pay(sale, paid), place(sale, EMAIL)
    page = support.get(target(support, ADA)).content.decode()
    start = page.index(f'href="/admin/holdfast/{model}/?') + len('href="')
    url = page[start : page.index('"', start)].replace("&amp;", "&")
    listed = support.get(url).content.decode()
    expected = order_id if model == "order" else paid
    assert str(expected) in listed
    assert str(other) not in listed
    assert "Show everybody" in listed


def test_no_url_has_the_address_or_the_code(support: Client, sale: Sale) -> None:
    order_id = pay(sale, place(sale))
    code = code_of(sale, order_id)
    user = place(sale, EMAIL, user_id="zoe@example.com", reference="ZQE234")
    urls = [target(support, text) for text in (ADA, code, "nobody@example.com", code[:-1])]
    page = support.get(page_of("hold", user, sale)).content.decode()
    urls += [each.split('"')[0] for each in page.split('href="')[1:]]
    for url in urls:
        for secret in ("ada@", "zoe", "nobody", "@", "%40", code[:-1]):
            assert secret not in url, url


def test_no_log_has_what_was_entered(
    support: Client, sale: Sale, capfd: pytest.CaptureFixture[str], caplog: Any
) -> None:
    order_id = pay(sale, place(sale))
    code = code_of(sale, order_id)
    with caplog.at_level("DEBUG"):
        for text in (ADA, code, "nobody@example.com"):
            shown(support, text)
    logged = [
        record.getMessage() for record in caplog.records if record.name != "django.db.backends"
    ]
    out, err = capfd.readouterr()
    for told in ("\n".join(logged), out, err):
        assert not [text for text in (ADA, code, "nobody@example.com") if text in told]


def test_results_can_be_reopened_by_the_same_person_only(
    support: Client, sale: Sale, database_url: str
) -> None:
    for _ in range(2):
        sale.seat("B", 12, id=uuid7())
    url = target(support, "B12")
    for _ in range(2):
        assert "Stalls, row B, seat 12" in support.get(url).content.decode()
    colleague = browser_of(hire(database_url, sale, "support"))
    other = colleague.get(url).content.decode()
    assert "Stalls, row B, seat 12" not in other
    assert "This link belongs to somebody else or is no longer valid" in other
    damaged = support.get(url[:-6]).content.decode()
    assert "This link belongs to somebody else or is no longer valid" in damaged


def test_a_sealed_search_differs_each_time_and_hides_its_text() -> None:
    tokens = {sealed(ADA, 7) for _ in range(3)}
    assert len(tokens) == 3
    assert not [token for token in tokens if "ada" in token]
    assert {opened(token, 7) for token in tokens} == {ADA}
    assert {opened(token, 8) for token in tokens} == {None}
    assert {opened(text, 7) for text in ("", "x", "\N{SNOWMAN}", "AAAA" * 20)} == {None}


def test_nothing_of_another_organization_is_found(support: Client, sale: Sale) -> None:
    other = new_sale(sale.owner)
    hold_id = place(other, reference="THE4RS", user_id="their-user")
    order_id = pay(other, hold_id, payment_reference="their-payment")
    seat_id = other.seat("Q", 77)
    ids = (str(hold_id), str(order_id), str(seat_id))
    names = ("THE4RS", "their-payment", code_of(other, order_id), "their-user", ADA, "Q77")
    for text in (*ids, *names):
        assert "Nothing found for" in shown(support, text), text
    for path in ("person", "attempts"):
        url = f"/admin/find/{path}/?organization={other.organization_id}&user=their-user"
        assert support.get(url).status_code == 403, path
    assert find(support, "THE4RS", organization=other.organization_id).status_code == 403
    chosen = f"/admin/find/?organization={other.organization_id}&for={uuid4()}"
    assert support.get(chosen).status_code in {200, 403}


def test_an_operator_sees_which_organization_a_match_belongs_to(
    operator: Client, sale: Sale
) -> None:
    other = new_sale(sale.owner)
    reference = uuid4().hex[:8].upper()
    mine, theirs = place(sale, reference=reference), place(other, reference=reference)
    chosen = {"organization": sale.organization_id}
    assert target(operator, reference, **chosen) == page_of("hold", mine, sale)
    chosen = {"organization": other.organization_id}
    assert target(operator, reference, **chosen) == page_of("hold", theirs, other)


def test_members_of_two_organizations_search_both(sale: Sale, database_url: str) -> None:
    other = new_sale(sale.owner)
    staff = hire(database_url, sale, "support")
    member = {"id": uuid7(), "user_id": staff.user_id, "role": "viewer"}
    insert(sale.owner, "member", organization_id=other.organization_id, **member)
    client = browser_of(staff)
    reference = uuid4().hex[:8].upper()
    mine, theirs = place(sale, reference=reference), place(other, reference=reference)
    text = shown(client, reference)
    assert f"{mine}/change" in text
    assert f"{theirs}/change" in text
    assert "Harbour Hall (" in text
    people = shown(client, ADA)
    assert f"person/?organization={sale.organization_id}" in people
    assert f"person/?organization={other.organization_id}" in people


def test_a_viewer_finds_holds_but_not_attempts(database_url: str, sale: Sale) -> None:
    place(sale, reference="VEW234", user_id="u1")
    viewer = browser_of(hire(database_url, sale, "viewer"))
    assert "VEW234" in shown(viewer, "u1")
    assert "Refused attempts" not in shown(viewer, "u1")
    attempts = f"/admin/find/attempts/?organization={sale.organization_id}&user=u1"
    assert viewer.get(attempts).status_code == 403


def test_strangers_are_asked_to_log_in() -> None:
    stranger = Client(SERVER_NAME="localhost")
    for path in ("", "person/", "attempts/"):
        assert stranger.get(f"/admin/find/{path}").status_code == 302
    assert stranger.post("/admin/find/", {"find": ADA}).headers["Location"] == (
        "/admin/login/?next=/admin/find/"
    )


def test_a_cross_site_search_is_refused(operator: Client) -> None:
    strict = Client(SERVER_NAME="localhost", enforce_csrf_checks=True)
    strict.cookies = operator.cookies
    assert find(strict, ADA).status_code == 403


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Enter what you are looking for"),
        ("  ", "Enter what you are looking for"),
        ("x" * 256, "at most 255 characters"),
        ("a\x00b", "Null characters are not allowed"),
    ],
)
def test_what_nothing_can_be_called_is_refused(support: Client, text: str, said: str) -> None:
    assert target(support, text) == "/admin/find/"
    assert said in support.get("/admin/find/").content.decode()


def test_nothing_found_says_what_was_looked_for_and_what_can_be_entered(support: Client) -> None:
    text = shown(support, "nobody@example.com")
    assert "Nothing found for “n***@example.com”" in text
    for hint in ("booking reference", "e-mail address or user id", "Parterre B 12", "ticket code"):
        assert hint in text


def test_what_is_entered_is_escaped(support: Client) -> None:
    text = shown(support, '"><script>alert(1)</script>')
    assert "<script>alert" not in text


@pytest.mark.parametrize("query", ["", "organization=x&user=u", "user=u", "organization={}"])
def test_a_broken_link_to_a_person_is_not_found(support: Client, sale: Sale, query: str) -> None:
    given = query.format(sale.organization_id)
    assert support.get(f"/admin/find/person/?{given}").status_code == 404
    many = ",".join(uuid4().hex for _ in range(21))
    own = f"organization={sale.organization_id}"
    for bad in (f"{own}&holder=zz", f"{own}&holder={many}", f"{own}&user=a%00b"):
        assert support.get(f"/admin/find/person/?{bad}").status_code == 404


def test_each_kind_is_limited(support: Client, sale: Sale, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.entrypoints.admin.find.rows.ROWS_MAX", 3)
    for _ in range(6):
        pay(sale, place(sale, user_id="u1"), payment_reference="shared", user_id="u1")
        sale.seat("B", 12, id=uuid7())
    for text, model in (("shared", "order"), ("B12", "seat")):
        found = shown(support, text)
        assert found.count(f'<a class="text-link" href="/admin/holdfast/{model}/') == 3
        assert "Only the first 20 are shown" in found
    person = shown(support, "u1")
    assert person.count('<a class="text-link" href="/admin/holdfast/hold/') == 3 + 1
    assert "The newest 3" in person


def test_organizations_are_limited(
    operator: Client, sale: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.entrypoints.admin.find.pages.ORGANIZATIONS_SEARCHED_MAX", 1)
    new_sale(sale.owner)
    assert "Only the first 1 are searched" in operator.get("/admin/find/").content.decode()
    place(sale, reference="AF4R23")
    own = {"organization": sale.organization_id}
    assert "/hold/" in target(operator, "AF4R23", **own)


GROWING = ("hold", "purchase_order")
INDEXES = {
    "K7M2QX": "hold_organization_id_reference_key",
    str(uuid7()): "hold_pkey",
    "pi_1 x": "purchase_order_by_payment",
    ADA: "hold_by_email",
    "user 1 x": "hold_by_user",
}
COPIES = """
INSERT INTO {table} SELECT (jsonb_populate_record(of_one, jsonb_build_object(
    'id', gen_random_uuid(), 'email_key', gen_random_uuid(), 'user_id', 'user ' || number,
    'reference', 'R' || number, 'payment_reference', 'p' || number, 'checkout_id', NULL))).*
FROM {table} of_one, generate_series(1, 3000) AS number WHERE of_one.organization_id = %s
"""


def test_searches_use_indexes(support: Client, sale: Sale) -> None:
    """In an organization with many holds and orders."""
    pay(sale, place(sale))
    for table in GROWING:
        sale.owner.execute(COPIES.format(table=table).encode(), [sale.organization_id])
        sale.owner.execute(f"ANALYZE {table}".encode())
    for text, index in INDEXES.items():
        with CaptureQueriesContext(connection) as captured:
            find(support, text)
        asked = [each["sql"] for each in captured.captured_queries]
        plans = []
        with connection.cursor() as cursor:
            for sql in asked:
                if any(f'FROM "{table}"' in sql for table in GROWING):
                    cursor.execute(f"EXPLAIN {sql}")
                    plans.append("\n".join(line for (line,) in cursor.fetchall()))
        scans = [plan for plan in plans for table in GROWING if f"Seq Scan on {table}" in plan]
        assert not scans, (text, scans)
        assert any(index in plan for plan in plans), (text, plans)


def test_no_list_is_searched_or_filtered_by_an_address(operator: Client) -> None:
    for site in admin.site._registry.values():
        named = [*site.search_fields, *map(str, site.list_filter)]
        named += [getattr(each, "parameter_name", "") for each in site.list_filter]
        assert not [name for name in named if "email" in name and "email_key" not in name], site
