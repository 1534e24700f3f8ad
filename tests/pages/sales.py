"""Insert a sale as rows, and open its pages."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
from django.test import Client
from uuid_utils.compat import uuid7

EMAIL = "bartholomew@example.com"


@dataclass(frozen=True)
class Sale:
    """One organization with a row in every table."""

    owner: psycopg.Connection[Any]
    organization_id: UUID
    session_id: UUID
    ticket_type_id: UUID
    pool_id: UUID
    block_id: UUID

    def seat(self, row: str, number: int, **values: Any) -> UUID:
        """Insert a seat, available by default."""
        seat = {
            "organization_id": self.organization_id,
            "id": uuid7(),
            "session_id": self.session_id,
            "block_id": self.block_id,
            "row_name": row,
            "row_rank": ord(row) - ord("A"),
            "number": str(number),
            "position": number,
            "x": number,
            "y": ord(row) - ord("A"),
        } | values
        insert(self.owner, "seat", **seat)
        return UUID(str(seat["id"]))

    def held_seat(self, row: str, number: int, hold_id: UUID, seconds: int = 600) -> UUID:
        now = datetime.now(UTC)
        return self.seat(
            row,
            number,
            status="held",
            hold_id=hold_id,
            holder_key=uuid7(),
            locked_at=now - timedelta(hours=1),
            held_until=now + timedelta(seconds=seconds),
        )

    def place(
        self,
        email: str | None = EMAIL,
        expires_in: int = 600,
        seat_id: UUID | None = None,
        **values: Any,
    ) -> UUID:
        now = datetime.now(UTC)
        row = {
            "organization_id": self.organization_id,
            "id": uuid7(),
            "session_id": self.session_id,
            "reference": uuid4().hex[:8].upper(),
            "customer_email": None if email is None else b"\x00" + email.encode(),
            "email_key": None if email is None else uuid4(),
            "quantity": 2,
            "total_minor": 5100,
            "currency": "EUR",
            "status": "active",
            "version": 1,
            "created_at": now - timedelta(hours=1),
            "updated_at": now,
            "held_at": now,
            "expires_at": now + timedelta(seconds=expires_in),
        } | values
        row.setdefault("due_at", row.get("warn_at") or row["expires_at"])
        insert(self.owner, "hold", **row)
        key = {"organization_id": self.organization_id, "hold_id": row["id"]}
        insert(
            self.owner,
            "hold_line",
            **key,
            position=0,
            ticket_type_id=self.ticket_type_id,
            quantity=2,
            unit_price_minor=2550,
            pool_ids=[self.pool_id],
            seat_id=seat_id,
        )
        payload = json.dumps({"customer_email": email, "quantity": 2})
        insert(
            self.owner,
            "outbox",
            **key,
            event_id=uuid7(),
            version=1,
            type="hold.created",
            occurred_at=now,
            payload=payload,
        )
        insert(
            self.owner,
            "audit",
            **key,
            at=now,
            action="hold.created",
            actor=f"holder {email}",
            request_id="request-1",
            new=json.dumps({"status": "active"}),
        )
        return UUID(str(row["id"]))

    def pay(self, *hold_ids: UUID, seat_id: UUID | None = None, **values: Any) -> UUID:
        """Insert an order of these holds, through a checkout, with one ticket."""
        own = {"organization_id": self.organization_id}
        order_id = UUID(str(values.get("id") or uuid7()))
        checkout_id, now = uuid7(), datetime.now(UTC)
        of_holds = {"hold_ids": list(hold_ids), "created_at": now}
        insert(self.owner, "checkout", **own, id=checkout_id, **of_holds)
        order = {
            "id": order_id,
            "checkout_id": checkout_id,
            "customer_email": b"\x00" + EMAIL.encode(),
            "total_minor": 5100,
            "currency": "EUR",
            "payment_reference": f"pay-{order_id}",
        }
        insert(self.owner, "purchase_order", **own, **of_holds, **(order | values))
        ticket = {
            "id": uuid7(),
            "order_id": order_id,
            "position": 0,
            "hold_id": hold_ids[0],
            "session_id": self.session_id,
            "ticket_type_id": self.ticket_type_id,
            "seat_id": seat_id,
            "unit_price_minor": 2550,
            "code": uuid4().hex.upper(),
            "attendee": b"\x00" + json.dumps(["Bartholomew Attendee", EMAIL]).encode(),
        }
        insert(self.owner, "ticket", **own, **ticket)
        self.owner.execute(
            "UPDATE hold SET status = 'converted', checkout_id = %s, order_id = %s"
            " WHERE organization_id = %s AND id = ANY (%s)",
            [checkout_id, order_id, self.organization_id, list(hold_ids)],
        )
        return order_id


def insert(owner: psycopg.Connection[Any], table: str, **values: Any) -> None:
    columns = ", ".join(values)
    places = ", ".join(f"%({column})s" for column in values)
    owner.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})".encode(), values)


def new_sale(owner: psycopg.Connection[Any]) -> Sale:
    organization, event, session, pool, ticket_type, block = (uuid7() for _ in range(6))
    insert(owner, "organization", id=organization, name="Harbour Hall")
    mine = {"organization_id": organization}
    secret = uuid4().bytes * 2
    key = {"name": "Web shop", "prefix": "hk_test_ab", "scopes": ["holds:read"]}
    insert(owner, "api_key", **mine, id=uuid7(), secret_hash=secret, **key)
    insert(owner, "event", **mine, id=event, name="Winter concerts", currency="EUR")
    insert(owner, "session", **mine, id=session, event_id=event, name="Friday")
    counters = {"total": 100, "held": 10, "sold": 5}
    insert(owner, "pool", **mine, id=pool, session_id=session, name="Floor", **counters)
    lapsed = datetime.now(UTC) - timedelta(minutes=1)
    insert(owner, "pool_lapse", **mine, pool_id=pool, lapses_at=lapsed, units=4)
    ticket = {"session_id": session, "name": "Adult", "price_minor": 2550}
    insert(owner, "ticket_type", **mine, id=ticket_type, **ticket)
    insert(owner, "ticket_type_pool", **mine, ticket_type_id=ticket_type, pool_id=pool)
    insert(owner, "block", **mine, id=block, session_id=session, name="Stalls", rank=0)
    price = {"ticket_type_id": ticket_type, "rank": 0, "price_minor": 3075}
    insert(owner, "block_price", **mine, block_id=block, **price)
    ids = (organization, session, ticket_type, pool, block)
    return Sale(owner, *(UUID(str(row)) for row in ids))


def event_of(sale: Sale) -> UUID:
    query = "SELECT event_id FROM session WHERE organization_id = %s AND id = %s"
    row = sale.owner.execute(query, [sale.organization_id, sale.session_id]).fetchone()
    assert row is not None
    return UUID(str(row[0]))


def another_session(sale: Sale, event_id: UUID) -> Sale:
    session_id = UUID(str(uuid7()))
    own = {"organization_id": sale.organization_id}
    insert(sale.owner, "session", **own, id=session_id, event_id=event_id, name="Saturday")
    return replace(sale, session_id=session_id)


def page(client: Client, path: str, **query: object) -> str:
    answer = client.get(f"/admin/holdfast/{path}", {name: str(query[name]) for name in query})
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def list_of(client: Client, model: str, sale: Sale, **query: object) -> str:
    column = "q" if model == "organization" else "organization__id__exact"
    return page(client, f"{model}/", **{column: sale.organization_id}, **query)
