"""Facts with their relay status, and audit filters."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client

from holdfast import domain
from holdfast.adapters.postgres.audit.reader import PostgresAudit
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.ids import OrganizationId
from holdfast.domain.values import EmailAddress, Holder
from holdfast.entrypoints.admin.apps import AdminConfig
from tests.pages.sales import Sale, insert, list_of, new_sale, page
from tests.support.patience import wait_until


def relay_status(operator: Client, sale: Sale) -> str:
    (said,) = re.findall(r'role="status">(.*?)</p>', list_of(operator, "fact", sale), re.DOTALL)
    return " ".join(re.sub("<[^>]+>", "", said).split())


def mark_all_relayed(sale: Sale) -> None:
    sale.owner.execute(
        "INSERT INTO relay_cursor (partition, xid, seq)"
        " SELECT partition, max(xid), 9223372036854775807 FROM outbox GROUP BY partition"
        " ON CONFLICT (partition) DO UPDATE SET xid = excluded.xid, seq = excluded.seq"
    )


def badges(text: str) -> list[str]:
    return re.findall(r">\s*(relayed|waiting)\s*</span>", text)


def test_facts_show_whether_they_were_relayed(operator: Client, sale: Sale) -> None:
    sale.place()

    def are_all_relayed() -> bool:
        """Servers of other tests share the database, and may have more to tell."""
        mark_all_relayed(sale)
        status = relay_status(operator, sale)
        return status.startswith("Every fact of every organization has been")

    wait_until(are_all_relayed, "every fact is relayed")
    assert badges(list_of(operator, "fact", sale)) == ["relayed"]

    hold = sale.place()
    sale.owner.execute(
        "UPDATE outbox SET occurred_at = now() - interval '90 seconds' WHERE hold_id = %s", [hold]
    )
    said = relay_status(operator, sale)
    assert re.match(
        r"\d+ facts? of all organizations waiting to be relayed, the oldest for 9\d s\.", said
    )
    assert badges(list_of(operator, "fact", sale)) == ["waiting", "relayed"]


def test_facts_are_in_log_order(operator: Client, sale: Sale) -> None:
    """Not by sequence number: a later transaction may have drawn a lower one."""
    first, second = sale.place(), sale.place()
    sale.owner.execute("UPDATE outbox SET xid = pg_current_xact_id() WHERE hold_id = %s", [first])
    text = list_of(operator, "fact", sale)
    assert text.index(str(first)) < text.index(str(second))


def test_a_fact_is_found_by_its_cursor(operator: Client, sale: Sale) -> None:
    sale.place()
    (found,) = re.findall(r'href="/admin/holdfast/(fact/[^"]+)"', list_of(operator, "fact", sale))
    path, _, place = found.replace("&amp;", "&").partition("?")
    query = dict(part.split("=") for part in place.split("&"))
    assert "hold.created" in page(operator, path, **query)
    elsewhere = query | {"transaction": "3"}
    assert operator.get(f"/admin/holdfast/{path}", elsewhere).status_code == 302
    assert operator.get("/admin/holdfast/fact/none/change/").status_code == 302


@pytest.fixture
def entries(sale: Sale) -> dict[str, UUID]:
    """Three entries of three holds that differ in every filterable field."""
    found = {}
    for name, action, actor, hours in (
        ("old", "hold.cancelled", "key:one", 48),
        ("seat", "seat_reserved", "key:two", 24),
        ("failed", "hold.convert_failed", "key:two", 0),
    ):
        hold = sale.place()
        seat = sale.seat("A", hours + 1)
        entry: dict[str, Any] = {
            "organization_id": sale.organization_id,
            "hold_id": hold,
            "seat_id": seat,
            "at": datetime.now(UTC) - timedelta(hours=hours),
            "action": action,
            "actor": actor,
            "request_id": "request-1",
            "new": json.dumps({}),
        }
        insert(sale.owner, "audit", **entry)
        found[name] = seat
    return found


def key_of(sale: Sale) -> UUID:
    row = sale.owner.execute(
        "SELECT id FROM api_key WHERE organization_id = %s", [sale.organization_id]
    ).fetchone()
    assert row is not None
    return UUID(str(row[0]))


def shown(operator: Client, sale: Sale, seats: dict[str, UUID], **query: object) -> set[str]:
    text = list_of(operator, "auditentry", sale, **query)
    return {name for name, seat in seats.items() if f"/seat/{seat}/" in text}


def test_the_audit_names_only_keys_of_its_organization(operator: Client, sale: Sale) -> None:
    def entry(actor: str) -> str:
        number = uuid4().hex
        insert(
            sale.owner,
            "audit",
            organization_id=sale.organization_id,
            at=datetime.now(UTC),
            action="hold.release_failed",
            hold_id=uuid4(),
            actor=actor,
            request_id=number,
            new=json.dumps({}),
        )
        row = sale.owner.execute("SELECT seq FROM audit WHERE request_id = %s", [number]).fetchone()
        assert row is not None
        return page(operator, f"auditentry/{row[0]}/change/")

    own, strange = key_of(sale), key_of(new_sale(sale.owner))
    address = f'<a class="text-link" href="/admin/holdfast/apikey/{own}/change/">Web shop</a>'
    text = entry(f"key:{own}")
    assert address in text
    assert f"key:{own}" in text, "the value that the actor filter takes"
    assert address in list_of(operator, "auditentry", sale, actor=f"key:{own}")
    for actor in (f"key:{strange}", "key:one", "reaper"):
        text = entry(actor)
        assert actor in text
        assert "Web shop" not in text


def test_the_audit_is_filtered_by_action_actor_seat_and_time(
    operator: Client, sale: Sale, entries: dict[str, UUID]
) -> None:
    assert shown(operator, sale, entries) == {"old", "seat", "failed"}
    assert shown(operator, sale, entries, action="hold.convert_failed") == {"failed"}
    assert shown(operator, sale, entries, actor="key:two") == {"seat", "failed"}
    assert shown(operator, sale, entries, actor="key:") == set(), (
        "the filter matches the whole actor"
    )
    assert shown(operator, sale, entries, seat_id=entries["seat"]) == {"seat"}
    assert shown(operator, sale, entries, seat_id="no id") == set()
    yesterday = datetime.now(UTC) - timedelta(hours=36)
    since = {"at_from_0": f"{yesterday:%Y-%m-%d}", "at_from_1": f"{yesterday:%H:%M:%S}"}
    assert shown(operator, sale, entries, **since) == {"seat", "failed"}
    until = {"at_to_0": f"{yesterday:%Y-%m-%d}", "at_to_1": f"{yesterday:%H:%M:%S}"}
    assert shown(operator, sale, entries, **until) == {"old"}
    assert shown(operator, sale, entries, at_to_0=f"{yesterday:%Y-%m-%d}") >= {"old"}
    last_week = f"{yesterday - timedelta(days=7):%Y-%m-%d}"
    assert shown(operator, sale, entries, at_to_0=last_week) == set()
    assert shown(operator, sale, entries, at_to_0="2026-02-31", at_from_0="x") == {
        "old",
        "seat",
        "failed",
    }


def test_every_refused_attempt_can_be_filtered(operator: Client) -> None:
    """The names are in the commands, as plain strings."""
    sources = Path(domain.__path__[0]).rglob("*.py")
    named = {
        name for each in sources for name in re.findall(r'"([\w.]+_failed)"', each.read_text())
    }
    assert "cart.fill_failed" in named
    shown = page(operator, "auditentry/")
    assert [name for name in sorted(named) if name not in shown] == []


HASHES = HolderHashes("a secret of the installation, 32")


@pytest.fixture
def readers(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reader that the list searches with."""
    opened = Database(database_url)
    opened.open()
    services = SimpleNamespace(audit=PostgresAudit(opened, HASHES))
    monkeypatch.setattr(AdminConfig, "services", services, raising=False)
    yield
    opened.close()


@pytest.mark.parametrize(
    ("search", "is_found"),
    [
        ({"holder": "ann@example.com"}, True),
        ({"holder": "ANN@example.com", "error": "insufficient_inventory"}, True),
        ({"holder": "bob@example.com"}, False),
        ({"holder": "no address"}, False),
        ({"holder": "ann@example.com", "outcome": "done"}, False),
        ({"outcome": "refused", "ip": "203.0.113.7"}, True),
        ({"session": "no id"}, False),
        ({"request": "request-ann"}, True),
        ({"acting_user": "desk-3"}, True),
        ({"cart": "cart-ann"}, True),
    ],
)
def test_the_audit_explains_why_ann_was_refused(
    operator: Client, sale: Sale, readers: None, search: dict[str, str], is_found: bool
) -> None:
    ann = Holder(EmailAddress("ann@example.com"))
    holder, _ = HASHES.of(OrganizationId(UUID(str(sale.organization_id))), ann)
    refusal = {"error": "insufficient_inventory", "quantity": 3, "available_quantity": 1}
    insert(
        sale.owner,
        "audit",
        organization_id=sale.organization_id,
        at=datetime.now(UTC),
        action="hold.create_failed",
        actor="key:one",
        acting_user="desk-3",
        request_id="request-ann",
        ip="203.0.113.7",
        cart="cart-ann",
        holder=holder,
        new=json.dumps(refusal),
    )
    if "@" in search.get("holder", ""):
        email = search["holder"]
        search = search | {"holder": HASHES.address_key(sale.organization_id.int, email)}
    text = list_of(operator, "auditentry", sale, **search)
    assert ("asked for 3, available 1" in text) is is_found
    assert "ann@example.com" not in text


def test_the_audit_is_searched_within_one_organization(operator: Client) -> None:
    text = page(operator, "auditentry/", holder=uuid4())
    assert "Choose an organization to search its audit log" in text
