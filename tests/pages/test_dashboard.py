"""The dashboard shows what happens in an organization, to its own people, at a bounded cost."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from uuid_utils.compat import uuid7

from holdfast.entrypoints.admin import snapshots
from tests.pages.sales import Sale, event_of, insert, new_sale
from tests.pages.staff import browser_of, hire
from tests.pages.test_history import mark_all_relayed
from tests.support.patience import wait_until

# Its modules have models, which need Django: they are imported once it is set up.
DASHBOARD = "holdfast.entrypoints.admin.dashboard"


@pytest.fixture(autouse=True)
def uncached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "KEPT_SECONDS_MIN", 0.0)
    monkeypatch.setattr(snapshots, "KEPT_PER_SECOND_COUNTED", 0.0)


@pytest.fixture
def client(sale: Sale, database_url: str) -> Client:
    return browser_of(hire(database_url, sale, "support"))


def cards(client: Client, sale: Sale) -> str:
    answer = client.get("/admin/dashboard/", {"organization": str(sale.organization_id)})
    assert answer.status_code == 200, answer.content
    return words(answer.content.decode())


def words(markup: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", markup))


def refuse(sale: Sale, code: str, minutes_ago: int = 5, **new: Any) -> None:
    at = datetime.now(UTC) - timedelta(minutes=minutes_ago)
    entry = {"action": "hold.create_failed", "actor": "holder", "request_id": "r"}
    insert(
        sale.owner,
        "audit",
        organization_id=sale.organization_id,
        at=at,
        new=json.dumps({"error": code, **new}),
        **entry,
    )


def change_event(sale: Sale, **columns: object) -> None:
    sets = ", ".join(f"{name} = %({name})s" for name in columns)
    names = {**columns, "own": sale.organization_id, "id": event_of(sale)}
    sale.owner.execute(
        f"UPDATE event SET {sets} WHERE organization_id = %(own)s AND id = %(id)s".encode(), names
    )


def test_the_front_page_is_the_dashboard(client: Client, sale: Sale) -> None:
    text = client.get("/admin/").content.decode()
    assert "On sale now" in text
    assert "Harbour Hall" in text
    assert f"/admin/dashboard/?organization={sale.organization_id}" in text
    assert "holdfast/dashboard.js" in text


def test_events_on_sale_have_their_sold_held_and_free_places(client: Client, sale: Sale) -> None:
    """Lapsed places are free: 100 in all, 5 sold, 10 held of which 4 have lapsed."""
    text = cards(client, sale)
    assert "Winter concerts 1 session 5 sold 6 held 89 free of 100" in text
    now = datetime.now(UTC)
    sale.seat("A", 1, status="blocked", blocked_reason="camera")
    sale.seat("A", 2)
    sale.held_seat("A", 3, sale.place())
    assert "5 sold 7 held 90 free of 102" in cards(client, sale), "seats count, blocked ones do not"
    change_event(sale, sale_ends_at=now - timedelta(seconds=1))
    assert "No event is on sale." in cards(client, sale)
    change_event(sale, sale_ends_at=None, status="draft")
    assert "No event is on sale." in cards(client, sale)


@pytest.mark.usefixtures("sale")
def test_a_pool_that_limits_several_ticket_types_is_counted_alone() -> None:
    venue, adults, children, other = (uuid4() for _ in range(4))
    adult, child, guest = (uuid4() for _ in range(3))
    drawn = [(venue, adult), (venue, child), (adults, adult), (children, child), (other, guest)]
    on_sale = import_module(f"{DASHBOARD}.on_sale")
    assert on_sale.counted_once(drawn) == {venue, other}


def test_only_managers_are_offered_to_set_up_a_sale(
    client: Client, sale: Sale, database_url: str
) -> None:
    change_event(sale, status="archived")
    manager = browser_of(hire(database_url, sale, "manager"))
    assert "Set up a sale" in cards(manager, sale)
    assert "Set up a sale" not in cards(client, sale)


def test_today_begins_at_midnight_of_the_organization(client: Client, sale: Sale) -> None:
    """In the zone in which it is now between noon and one, and so surely the same day in an hour
    before and after."""
    hour = datetime.now(UTC).hour
    zone = f"Etc/GMT{hour - 12:+d}"
    own = [sale.organization_id]
    sale.owner.execute(
        "UPDATE organization SET time_zone = %s WHERE id = %s", [zone, sale.organization_id]
    )
    now = datetime.now(UTC)
    today, yesterday = now - timedelta(hours=1), now - timedelta(hours=14)
    assert "0 tickets sold in 0 orders 0 tickets held in 0 holds" in cards(client, sale)
    for created in (today, yesterday):
        order_id = sale.pay(sale.place(created_at=created, confirmed_at=created))
        sale.owner.execute(
            "UPDATE purchase_order SET created_at = %s WHERE organization_id = %s AND id = %s",
            [created, sale.organization_id, order_id],
        )
        sale.place(created_at=created)
    assert "2 tickets sold in 1 order 4 tickets held in 2 holds" in cards(client, sale)
    sale.owner.execute("UPDATE organization SET time_zone = 'UTC' WHERE id = %s", own)


def test_cancelled_tickets_and_orders_do_not_count_as_sold(client: Client, sale: Sale) -> None:
    """Each hold here has two places, and each order one ticket."""
    now = datetime.now(UTC)
    orders = [sale.pay(sale.place(confirmed_at=now)) for _ in range(3)]
    assert "6 tickets sold in 3 orders" in cards(client, sale)
    for order_id, status in zip(orders, ("partly_cancelled", "cancelled"), strict=False):
        own = [sale.organization_id, order_id]
        sale.owner.execute(
            "UPDATE ticket SET voided_at = now(), voided_version = 2"
            " WHERE organization_id = %s AND order_id = %s",
            own,
        )
        sale.owner.execute(
            "UPDATE purchase_order SET status = %s, version = 2"
            " WHERE organization_id = %s AND id = %s",
            [status, *own],
        )
    assert "4 tickets sold in 2 orders" in cards(client, sale)


def test_holds_that_expire_soon_are_listed_with_the_time_left(client: Client, sale: Sale) -> None:
    assert "No hold expires soon." in cards(client, sale)
    sale.place(reference="SOONER01", expires_in=65)
    sale.place(reference="SOON0002", expires_in=200)
    sale.place(reference="LATER003", expires_in=3600)
    sale.place(reference="LAPSED04", expires_in=-5)
    text = cards(client, sale)
    assert re.search(r"SOONER01 2 for Friday 1:0\d .*SOON0002 2 for Friday 3:\d\d", text)
    assert "LATER003" not in text
    assert "LAPSED04" not in text


def test_waitlists_are_listed_by_length(client: Client, sale: Sale) -> None:
    assert "Nobody is on a waitlist." in cards(client, sale)
    own = {"organization_id": sale.organization_id}
    other = uuid7()
    insert(sale.owner, "session", **own, id=other, event_id=event_of(sale), name="Saturday")
    for session_id, lengths in ((sale.session_id, (3, 4)), (other, (1_200,))):
        for length in lengths:
            queue = {"wants": [uuid4()], "waiting": length, "passes": 0}
            queue |= {"served": 0, "opened_at": datetime.now(UTC), "session_id": session_id}
            insert(sale.owner, "waiting_line", **own, id=uuid7(), **queue)
    assert "Waitlists 1,207 waiting Saturday 1,200 Friday 7" in cards(client, sale)


def test_refusals_of_the_last_hour_are_counted_by_reason(client: Client, sale: Sale) -> None:
    assert "Nothing was refused." in cards(client, sale)
    refuse(sale, "insufficient_inventory", times=40)
    refuse(sale, "insufficient_inventory")
    refuse(sale, "hold_not_found")
    refuse(sale, "hold_not_found", minutes_ago=61)
    text = cards(client, sale)
    assert re.search(r"in the last hour [^0-9]+ 41 Hold not found 1 ", text), text


def test_each_reason_links_to_its_attempts(client: Client, sale: Sale) -> None:
    refuse(sale, "hold_not_found")
    answer = client.get("/admin/dashboard/", {"organization": str(sale.organization_id)})
    assert re.search(
        rf"auditentry/\?organization__id__exact={sale.organization_id}&amp;error=hold_not_found"
        r"&amp;at_from_0=\d{4}-\d\d-\d\d&amp;at_from_1=\d\d%3A\d\d%3A\d\d",
        answer.content.decode(),
    )


def test_viewers_see_no_refusals_as_they_may_not_read_the_audit(
    client: Client, sale: Sale, database_url: str
) -> None:
    viewer = browser_of(hire(database_url, sale, "viewer"))
    assert "Refusals" not in cards(viewer, sale)
    assert "Refusals" in cards(client, sale)


def test_duties_show_whether_they_keep_up(
    client: Client, operator: Client, sale: Sale, database_url: str
) -> None:
    with psycopg.connect(database_url) as guard:
        hold_id = sale.place(expires_in=-7200, created_at=datetime.now(UTC) - timedelta(hours=3))
        # Servers of other tests share the database: their reapers skip what is locked.
        guard.execute("SELECT FROM hold WHERE id = %s FOR UPDATE", [hold_id])
        text, own = cards(operator, sale), cards(client, sale)
    assert re.search(r"Reaper expires holds and warns buyers [1-9]\d* h late \d+", text), text
    assert re.search(r"Promoter .* waitlists? due, last active", text)
    text = own
    assert re.search(r"Reaper expires holds and warns buyers [1-9]\d* h late Promoter", text)
    assert "due" not in text, "numbers of other organizations are for operators"


def test_the_reconciler_is_shown_where_another_service_counts_the_tickets(
    client: Client, operator: Client, sale: Sale, database_url: str
) -> None:
    assert "Reconciler" not in cards(operator, sale)
    task = (sale.organization_id, uuid7())
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO inventory_task (organization_id, hold_id, position, since, due_at)"
            " VALUES (%s, %s, pg_current_xact_id(), now() - interval '2 hours', now())",
            task,
        )
        try:
            text, own = cards(operator, sale), cards(client, sale)
        finally:
            owner.execute("DELETE FROM inventory_task WHERE hold_id = %s", task[1:])
    shown = "Reconciler settles holds with the Inventory Service 2 h late"
    assert f"{shown} 1 hold due" in text
    assert shown in own


def test_the_relay_is_late_while_facts_wait_for_the_broker(
    client: Client, operator: Client, sale: Sale
) -> None:
    relay = "Relay publishes facts to the broker"
    sale.owner.execute("DELETE FROM relay_cursor")
    assert f"{relay} not running" in cards(client, sale)
    sale.place()

    def is_on_time() -> bool:
        """Servers of other tests share the database, and may have more to tell."""
        mark_all_relayed(sale)
        text = cards(operator, sale)
        return re.search(rf"{relay} on time 0 facts due, last active \d", text) is not None

    wait_until(is_on_time, "no fact is due")
    hold_id = sale.place()
    sale.owner.execute(
        "UPDATE outbox SET occurred_at = now() - interval '2 hours' WHERE hold_id = %s", [hold_id]
    )
    assert re.search(rf"{relay} 2 h late \d+ facts? due, last active \d", cards(operator, sale))
    own = cards(client, sale)
    assert f"{relay} 2 h late" in own
    assert "due" not in own, "numbers of other organizations are for operators"


def test_people_see_only_their_own_organizations(
    client: Client, operator: Client, sale: Sale, database_url: str
) -> None:
    stranger = new_sale(sale.owner)
    own, other = str(sale.organization_id), str(stranger.organization_id)
    for path in ("/admin/", "/admin/dashboard/"):
        assert client.get(path, {"organization": own}).status_code == 200
        assert client.get(path, {"organization": other}).status_code == 403
        assert client.get(path, {"organization": str(uuid4())}).status_code == 403
        assert operator.get(path, {"organization": other}).status_code == 200
    assert other not in client.get("/admin/").content.decode()
    assert Client(SERVER_NAME="localhost").get("/admin/dashboard/").status_code == 302


def test_the_answers_are_not_shared_between_organizations(
    client: Client, sale: Sale, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even while they are cached."""
    monkeypatch.setattr(snapshots, "KEPT_SECONDS_MIN", 60.0)
    stranger = new_sale(sale.owner)
    sale.place(reference="MINEONLY", expires_in=100)
    theirs = browser_of(hire(database_url, stranger, "owner"))
    assert "MINEONLY" in cards(client, sale)
    assert "MINEONLY" not in cards(theirs, stranger)


def test_somebody_without_an_organization_is_told(sale: Sale, database_url: str) -> None:
    staff = hire(database_url, sale, "viewer")
    sale.owner.execute("DELETE FROM member WHERE user_id = %s", [staff.user_id])
    assert "not a member of an organization" in browser_of(staff).get("/admin/").content.decode()


def test_an_operator_without_an_organization_is_told_how_to_create_one(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{DASHBOARD}.pages._offered", lambda _: [])
    assert "holdfast create-organization" in operator.get("/admin/").content.decode()


def test_many_open_dashboards_cost_as_much_as_one(
    client: Client, sale: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hold_queries() -> int:
        with CaptureQueriesContext(connection) as queries:
            cards(client, sale)
        return sum('"hold"' in each["sql"] or "FROM hold" in each["sql"] for each in queries)

    assert hold_queries() > 3
    assert hold_queries() > 3, "control: nothing is cached"
    monkeypatch.setattr(snapshots, "KEPT_SECONDS_MIN", 60.0)
    hold_queries()
    assert [hold_queries() for _ in range(5)] == [0] * 5


def test_a_number_that_takes_too_long_is_left_out(
    client: Client, sale: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = "SELECT id, reference, quantity, '', expires_at FROM hold, pg_sleep(9) LIMIT %(limit)s"
    monkeypatch.setattr(f"{DASHBOARD}.counts.NEXT_TO_EXPIRE", slow)
    text = cards(client, sale)
    assert "could not be counted in time" in text
    assert "Winter concerts" in text


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As many are counted as may be."""
    monkeypatch.setattr(snapshots, "WAIT_SECONDS_MAX", 0.01)
    turns = import_module(f"{DASHBOARD}.pages")._numbers._turns
    for _ in range(snapshots.COUNTED_AT_ONCE_MAX):
        turns.acquire()
    yield
    for _ in range(snapshots.COUNTED_AT_ONCE_MAX):
        turns.release()


@pytest.mark.usefixtures("crowded")
def test_beyond_its_limit_the_dashboard_says_that_it_is_busy(client: Client, sale: Sale) -> None:
    answer = client.get("/admin/dashboard/", {"organization": str(sale.organization_id)})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "The server is busy." in words(client.get("/admin/").content.decode())


def test_an_old_number_is_never_shown_as_current(monkeypatch: pytest.MonkeyPatch) -> None:
    """Last night's numbers are unknown in the morning, even while others are being counted."""
    monkeypatch.setattr(snapshots, "WAIT_SECONDS_MAX", 0.01)
    now = [0.0]
    numbers = snapshots.Snapshots[int](lambda: now[0])
    assert numbers.get("own", lambda: 7) == 7
    now[0] = snapshots.KEPT_SECONDS_MIN + 1
    busy = [numbers._turns.acquire() for _ in range(snapshots.COUNTED_AT_ONCE_MAX)]
    assert numbers.get("own", lambda: 8) == 7, "a little late"
    now[0] = snapshots.KEPT_SECONDS_MIN + snapshots.LATE_SECONDS_MAX + 1
    with pytest.raises(snapshots.Busy):
        numbers.get("own", lambda: 8)
    for _ in busy:
        numbers._turns.release()
    assert numbers.get("own", lambda: 8) == 8
