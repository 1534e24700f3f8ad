"""Lists as CSV files: filtered like the list, safe to open, and recorded."""

import asyncio
import json
import resource
from collections.abc import Iterator
from datetime import UTC
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.test import Client

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import OrganizationId
from holdfast.entrypoints.admin.exports import csv_text, slots
from holdfast.ports.audit.exports import Export
from holdfast.ports.audit.reader import AuditFilter
from tests.pages.exports import door_list, download, exported, rows_of, text_of
from tests.pages.sales import EMAIL, Sale, list_of, new_sale
from tests.pages.staff import browser_of, hire

# Its modules have models, which need Django: they are imported once it is set up.
EXPORTS = "holdfast.entrypoints.admin.exports"
LISTS = {"holds": "hold", "orders": "order", "audit": "auditentry"}


@pytest.fixture(autouse=True)
def free_slots(sale: Sale) -> Iterator[None]:
    yield
    import_module(f"{EXPORTS}.pages").slots._taken.clear()


@pytest.fixture
def client(sale: Sale, database_url: str) -> Client:
    return browser_of(hire(database_url, sale, "support"))


def entries(sale: Sale) -> list[tuple[str, str, dict[str, Any]]]:
    rows = sale.owner.execute(
        "SELECT action, actor, new FROM audit WHERE organization_id = %s"
        " AND action LIKE 'export.%%' ORDER BY at, seq",
        [sale.organization_id],
    )
    return [(action, actor, new) for action, actor, new in rows]


def test_holds_are_exported_with_plain_headers(client: Client, sale: Sale) -> None:
    sale.owner.execute(
        "UPDATE organization SET time_zone = 'Asia/Kolkata' WHERE id = %s", [sale.organization_id]
    )
    hold_id = sale.place(reference="ABCD1234", user_id="user-1")
    (row,) = exported(client, "holds", sale)
    assert row["Reference"] == "ABCD1234"
    assert (row["Status"], row["Tickets"], row["Total"], row["Currency"]) == (
        *("active", "2", "51.00"),
        "EUR",
    )
    assert (row["Session"], row["E-mail"], row["User id"]) == ("Friday", EMAIL, "user-1")
    assert row["Expires"].endswith("+05:30")
    assert row["Hold id"] == str(hold_id)
    assert row["Paid"] == ""


def test_orders_and_attempts_are_exported(client: Client, sale: Sale) -> None:
    order_id = sale.pay(sale.place(reference="AAAA1111"), sale.place(reference="BBBB2222"))
    (order,) = exported(client, "orders", sale)
    assert order["Booking references"] == "AAAA1111, BBBB2222"
    assert (order["Order id"], order["Total"], order["E-mail"]) == (str(order_id), "51.00", EMAIL)
    newest, *_ = exported(client, "audit", sale, action="hold.created")
    assert (newest["Action"], newest["Hold"]) == ("hold.created", "BBBB2222")


def test_lapsed_holds_are_exported_as_expired(client: Client, sale: Sale) -> None:
    sale.place(reference="LAPSED01", expires_in=-60)
    rows = exported(client, "holds", sale, status="expired")
    # A server may expire it between two parts of the export: then it is in both.
    assert {(row["Reference"], row["Status"]) for row in rows} == {("LAPSED01", "expired")}
    assert exported(client, "holds", sale, status="active") == []


@pytest.mark.parametrize("what", LISTS)
def test_the_list_links_to_the_export_with_its_own_filters(
    client: Client, sale: Sale, what: str
) -> None:
    text = list_of(client, LISTS[what], sale, q="ABCD1234", p=1)
    link = f"/admin/exports/{what}/?organization__id__exact={sale.organization_id}&amp;q=ABCD1234"
    assert f'"{link}"' in text


def test_holds_are_filtered_like_the_list(client: Client, sale: Sale) -> None:
    key = uuid4()
    wanted = sale.place(reference="WANTED01", user_id="u1", email_key=key)
    paid = sale.place(reference="PAID0001")
    sale.pay(paid)

    def found(**query: object) -> list[str]:
        return [row["Reference"] for row in exported(client, "holds", sale, **query)]

    assert sorted(found()) == ["PAID0001", "WANTED01"]
    assert found(status="converted") == ["PAID0001"]
    assert found(q="wanted01") == ["WANTED01"]
    assert found(q=str(wanted)) == ["WANTED01"]
    assert found(user_id__exact="u1") == ["WANTED01"]
    assert found(email_key__in=key) == ["WANTED01"]
    assert found(session_id=uuid4()) == []


def refuse(sale: Sale, code: str, times: int) -> None:
    sale.owner.execute(
        "INSERT INTO audit (organization_id, at, action, actor, request_id, new)"
        " SELECT %s, now() - make_interval(secs => n), 'hold.create_failed', 'holder', 'r',"
        " %s::jsonb FROM generate_series(1, %s) AS n",
        [sale.organization_id, json.dumps({"error": code, "quantity": 2}), times],
    )


def test_a_search_of_the_audit_is_exported_beyond_what_the_list_shows(
    client: Client, sale: Sale
) -> None:
    """The list stops at 500."""
    refuse(sale, "hold_not_found", 1_201)
    refuse(sale, "sold_out", 3)
    sale.place()
    found = exported(client, "audit", sale, error="hold_not_found")
    assert len(found) == 1_201
    assert {row["Refused because"] for row in found} == {"Hold not found"}
    assert len(exported(client, "audit", sale, outcome="refused")) == 1_204
    assert [row["Action"] for row in exported(client, "audit", sale, action="hold.created")] == [
        "hold.created"
    ]


def test_filters_that_the_list_does_not_allow_export_nothing(client: Client, sale: Sale) -> None:
    own = {"organization__id__exact": str(sale.organization_id)}
    for what, query in (("holds", {"customer_email__startswith": "b"}), ("audit", {"ip": "x"})):
        answer = client.get(f"/admin/exports/{what}/", own | query)
        assert answer.status_code in {302, 400}, what
    assert client.get("/admin/exports/passwords/", own).status_code == 404


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\uff1d1", "\u00a0@x"],
)
def test_no_cell_is_a_formula(client: Client, sale: Sale, text: str) -> None:
    sale.place(reference="FORMULA1", user_id=text)
    (row,) = exported(client, "holds", sale)
    assert row["User id"] == "'" + text.replace("\r", " ").replace("\n", " ")


def test_no_line_of_a_cell_begins_a_row() -> None:
    """Spreadsheets that split at semicolons take a line break for the end of the row."""
    for break_ in ("\n", "\r\n", "\r", "\v", "\N{LINE SEPARATOR}"):
        assert csv_text.without_formula(f"ok{break_}=1+1") == "ok =1+1"


def test_other_cells_are_left_as_they_are() -> None:
    for text in ("Ann-Marie", "1 + 1 = 2", "", "'quoted'", 'say "hi", then', "\u00c5sa"):
        assert csv_text.without_formula(text) == text


@pytest.mark.parametrize(
    ("role", "sees_addresses", "sees_codes"),
    [
        ("viewer", False, False),
        ("support", True, False),
        ("manager", True, True),
        ("owner", True, True),
    ],
)
def test_the_role_decides_who_sees_addresses_and_ticket_codes(
    sale: Sale, database_url: str, role: str, sees_addresses: bool, sees_codes: bool
) -> None:
    sale.pay(sale.place(reference="DOOR0001"), seat_id=sale.seat("A", 7, status="available"))
    client = browser_of(hire(database_url, sale, role))
    shown = EMAIL if sees_addresses else "b***@example.com"
    for what in ("holds", "orders"):
        assert {row["E-mail"] for row in exported(client, what, sale)} == {shown}
    (ticket,) = door_list(client, sale)
    assert (ticket["Block"], ticket["Row"], ticket["Seat"]) == ("Stalls", "A", "7")
    assert (ticket["Ticket type"], ticket["Booking reference"]) == ("Adult", "DOOR0001")
    assert ticket["Status"] == "valid"
    assert ticket.get("Attendee") == ("Bartholomew Attendee" if sees_addresses else None)
    code = sale.owner.execute(
        "SELECT code FROM ticket WHERE organization_id = %s", [sale.organization_id]
    ).fetchone()
    assert code is not None
    assert ticket.get("Ticket code") == (code[0] if sees_codes else None)


def test_the_door_list_has_the_tickets_of_its_session_only(
    operator: Client, client: Client, sale: Sale
) -> None:
    sale.pay(sale.place())
    stranger = new_sale(sale.owner)
    stranger.pay(stranger.place())
    assert len(door_list(operator, sale)) == 1
    assert client.get(f"/admin/exports/door-list/{stranger.session_id}/").status_code == 404
    assert client.get(f"/admin/exports/door-list/{uuid4()}/").status_code == 404
    assert len(door_list(operator, stranger)) == 1


def test_the_page_of_a_session_links_to_its_door_list(client: Client, sale: Sale) -> None:
    page = client.get(f"/admin/holdfast/session/{sale.session_id}/change/").content.decode()
    assert f"/admin/exports/door-list/{sale.session_id}/" in page


def test_nobody_exports_another_organization(
    client: Client, operator: Client, sale: Sale, database_url: str
) -> None:
    stranger = new_sale(sale.owner)
    stranger.place(reference="SECRET01")
    sale.place(reference="MINE0001")
    for what in LISTS:
        other = {"organization__id__exact": str(stranger.organization_id)}
        assert client.get(f"/admin/exports/{what}/", other).status_code == 403
    # Without an organization in the URL, it is the only one of the person.
    (row,) = rows_of(text_of(download(client, "holds")))
    assert row["Reference"] == "MINE0001"
    (row,) = exported(operator, "holds", stranger)
    assert row["Reference"] == "SECRET01"
    viewer = browser_of(hire(database_url, sale, "viewer"))
    assert viewer.get("/admin/exports/audit/").status_code == 403
    assert Client(SERVER_NAME="localhost").get("/admin/exports/holds/").status_code == 302


def test_operators_choose_an_organization_first(operator: Client, sale: Sale) -> None:
    answer = operator.get("/admin/exports/orders/", {"q": "x"}, follow=True)
    assert answer.redirect_chain == [("/admin/holdfast/order/?q=x", 302)]
    assert "Choose an organization to export its orders." in answer.content.decode()


def test_each_export_is_audited(client: Client, sale: Sale) -> None:
    sale.place(reference="ABCD1234")
    exported(client, "holds", sale, q="ABCD1234")
    started, finished = entries(sale)
    for action, actor, new in (started, finished):
        assert action in {"export.started", "export.finished"}
        assert actor.startswith("member:")
        assert new["export"] == "holds"
        assert new["filters"] == {
            "organization__id__exact": str(sale.organization_id),
            "q": "ABCD1234",
        }
        assert (new["is_in_clear"], new["has_codes"]) == (True, False)
    assert (finished[2]["rows"], finished[2]["is_complete"]) == (1, True)


def test_an_export_that_breaks_off_is_audited_as_incomplete(client: Client, sale: Sale) -> None:
    for _ in range(3):
        sale.place()
    answer = download(client, "holds", organization__id__exact=sale.organization_id)
    answer.close()  # the client has gone away
    assert [new.get("is_complete") for _, _, new in entries(sale)] == [None, False]


def test_an_export_that_fails_is_audited_as_incomplete_and_frees_its_slot(
    client: Client, sale: Sale
) -> None:
    """Django does not close a response that raises; its test client does, so it is not used."""
    own, freed = OrganizationId(sale.organization_id), []

    def pages() -> Iterator[list[list[str]]]:
        yield [["first"]]
        raise ConnectionError

    download = import_module(f"{EXPORTS}.download").Download(
        Export(own, "holds", {}, is_in_clear=True),
        Origin("member:ada", "request-1"),
        headers=["Name"],
        pages=pages(),
        zone=UTC,
        on_close=lambda: freed.append(True),
    )

    async def read() -> list[bytes]:
        return [part async for part in download]

    with pytest.raises(ConnectionError):
        asyncio.run(read())
    assert freed == [True]
    ((action, _, new),) = entries(sale)
    assert (action, new["rows"], new["is_complete"]) == ("export.finished", 1, False)


def test_a_user_id_that_is_searched_for_is_not_audited(client: Client, sale: Sale) -> None:
    exported(client, "holds", sale, user_id__exact="ann-1234")
    for _, _, new in entries(sale):
        assert new["filters"]["user_id__exact"] == "(given)"


def test_a_search_pauses_where_nothing_is_found(client: Client, sale: Sale) -> None:
    """Otherwise a rare filter would read the whole log at once, without a limit."""
    refuse(sale, "hold_not_found", 25_000)
    found_pages = import_module(f"{EXPORTS}.audit_search").found_pages
    models = import_module("holdfast.adapters.postgres.models")
    only = AuditFilter(error="sold_out")
    pages = list(found_pages(models.AuditEntry.objects.all(), sale.organization_id, only))
    assert len(pages) >= 3
    assert not any(pages)


def test_an_export_that_cannot_be_audited_is_not_made(
    client: Client, sale: Sale, database: Database
) -> None:
    database.close()
    answer = client.get("/admin/exports/holds/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")


def test_a_few_exports_run_at_once_and_the_next_is_told(
    client: Client, operator: Client, sale: Sale
) -> None:
    own = {"organization__id__exact": sale.organization_id}
    running = [download(client, "holds", **own) for _ in range(slots.OF_ORGANIZATION_MAX)]
    refused = client.get("/admin/exports/holds/")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "30")
    assert "Too many exports at once" in refused.content.decode()
    stranger = new_sale(sale.owner)
    assert exported(operator, "holds", stranger) == [], "others do not wait for that"
    text_of(running.pop())
    assert exported(client, "holds", sale) == []
    for each in running:
        each.close()


def test_a_slot_is_free_again_even_if_its_export_never_ends() -> None:
    now = [0.0]
    taken = slots.Slots(lambda: now[0])
    own = UUID(int=1)
    assert all(taken.take(own) for _ in range(slots.OF_ORGANIZATION_MAX))
    assert taken.take(own) is None
    now[0] = slots.SECONDS_MAX + 1
    assert taken.take(own) is not None


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


MANY = 50_000
_LOAD = """
INSERT INTO purchase_order (organization_id, id, hold_ids, customer_email, total_minor, currency,
    created_at)
SELECT %(own)s, gen_random_uuid(), ARRAY[gen_random_uuid()],
    '\\x00' || convert_to('buyer' || n || '@example.com', 'UTF8'), 100, 'EUR',
    now() - make_interval(secs => n / 3)
FROM generate_series(1, %(many)s) AS n
"""


@pytest.mark.timeout(600)
def test_fifty_thousand_rows_are_sent_in_pieces_with_bounded_memory(
    client: Client, sale: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many share a time, so that pages end between them."""
    monkeypatch.setattr(f"{EXPORTS}.download.PAUSE_SECONDS_MAX", 0.0)
    sale.owner.execute(_LOAD, {"own": sale.organization_id, "many": MANY})
    sizes: list[int] = []
    ids: set[int] = set()
    memory: list[int] = []

    answer = download(client, "orders", organization__id__exact=sale.organization_id)

    async def read() -> None:
        async for part in answer:
            assert isinstance(part, bytes)
            sizes.append(len(part))
            memory.append(resident_bytes())
            ids.update(map(hash, part.splitlines()))

    before = resident_bytes()
    asyncio.run(read())
    answer.close()
    assert len(ids) == MANY + 1, "each row once, and the header"
    assert max(sizes) < 256 * 1024
    assert len(sizes) > MANY // 1_000
    # A model instance of each row alone would take more.
    assert max(memory) - before < 32 * 1024 * 1024
    assert entries(sale)[-1][2]["rows"] == MANY


def test_no_transaction_is_open_while_the_client_reads(
    client: Client, sale: Sale, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{EXPORTS}.keyset.PAGE_ROWS", 2)
    for _ in range(5):
        sale.place()
    answer = download(client, "holds", organization__id__exact=sale.organization_id)
    open_ones: list[int] = []

    async def read() -> None:
        async for _ in answer:
            open_now = await asyncio.to_thread(open_transactions, database_url)
            open_ones.append(open_now)

    asyncio.run(read())
    answer.close()
    assert len(open_ones) > 2
    assert set(open_ones) == {0}


def open_transactions(database_url: str) -> int:
    with psycopg.connect(database_url) as owner:
        row = owner.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holdfast-django'"
            " AND state LIKE 'idle in transaction%'"
        ).fetchone()
    assert row is not None
    return int(row[0])
