"""An organization with a row for every page, and the address of every page."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg

from holdfast.bootstrap.database import setup_django
from holdfast.bootstrap.settings import Settings
from holdfast.domain.mails.kinds import MailKind
from tests.support.people import Staff, add_staff
from tests.support.platform import Hall, Json, Platform, Sale

PAID = {"payment_reference": "pi_7"}
ANN, BUYER = "ann@example.com", "buyer-7"
# No hold shall end while its pages are looked at.
LASTING = {"ttl_seconds": 36_000, "lifetime_max_seconds": 72_000}
TABLES = {"apikey": "api_key", "pool": "pool", "fact": "outbox", "auditentry": "audit"}


@dataclass
class Furnished:
    """`rows` are the ids of rows by model: the first is the one that actions are tried on. `ids`
    are by the name of an argument in a URL, and `own_ids` those of single URLs."""

    platform: Platform
    staff: Staff
    rows: dict[str, tuple[object, ...]] = field(default_factory=dict)
    ids: dict[str, object] = field(default_factory=dict)
    own_ids: dict[str, dict[str, object]] = field(default_factory=dict)

    @property
    def session_id(self) -> str:
        """That of the hall."""
        return str(self.ids["session_id"])

    def arguments(self, name: str, model: str) -> Mapping[str, object]:
        row = self.rows[model][0] if model else None
        return {"row_id": row, "object_id": row, "id": row} | self.ids | self.own_ids.get(name, {})

    def queries(self) -> dict[str, tuple[str, ...]]:
        """For pages that need one, by the name of the URL."""
        own = f"?organization={self.platform.organization_id}"
        person = f"{own}&user={BUYER}"
        return {
            "find-person": (person,),
            "find-attempts": (person, f"{own}&session={self.rows['session'][1]}"),
        }


def furnish(platform: Platform, owner_url: str) -> Furnished:
    staff = add_staff(owner_url, platform.organization_id, "support")
    sale, hall = platform.on_sale(3), platform.hall(2, 4, hold_policy=LASTING)
    for each in (hall, platform.hall(1, 1)):  # two seats have the same name
        start = {"starts_at": "2029-12-31T20:00:00Z"}  # before those that tests add
        _done(platform.client.patch(f"/api/sessions/{each.session_id}", json=start))
    sold_out = platform.on_sale(2, hold_policy=LASTING | {"waitlist": True})
    cancelled = _cancelled(platform)
    assert platform.place(sale, 4, user_id=BUYER).status_code == 409
    order, unrefunded = _paid(platform, sale), _unrefunded(platform)
    held, waiting = _held(platform, hall), _waiting(platform, sold_out)
    block = {"reason": "Camera", "seat_ids": [hall.row(1)[0]]}
    _done(platform.client.post(f"/api/sessions/{hall.session_id}/seats/block", json=block))
    mail = {"mail": MailKind.CONFIRMATION.value, "subject": "Yours"}
    mail_body = {"body_lines": ["{{ ticket_list }}"]}
    _done(platform.client.put("/api/organization/mails", json=mail | mail_body))
    rows: dict[str, tuple[object, ...]] = {
        "organization": (platform.organization_id,),
        "member": (staff.member_id,),
        "user": (staff.user_id,),
        "event": (sale.event_id, cancelled.event_id),
        "session": (hall.session_id, sold_out.session_id, cancelled.session_id),
        "tickettype": (sale.ticket_type_id, hall.ticket_type_id),
        "block": (hall.block_id,),
        "seat": (hall.row(0)[0], hall.row(1)[0]),
        "hold": (held, waiting, order["hold_ids"][0]),
        "waitlist": (sold_out.session_id, sale.session_id),
        "checkout": (order["checkout_id"],),
        "order": (order["order_id"], unrefunded["order_id"]),
        **_rows_made_by_the_server(owner_url, platform.organization_id),
    }
    ids = {
        "organization_id": platform.organization_id,
        "session_id": hall.session_id,
        "seat_id": hall.row(0)[0],
        "hold_id": held,
        "order_id": order["order_id"],
        "member_id": staff.member_id,
        "user_id": staff.user_id,
        "key_id": rows["apikey"][0],
        "name": MailKind.CONFIRMATION.value,
        "app_label": "holdfast",
        "what": "holds",
        "secret": "unknown",
        "content_type_id": 1,
    }
    party: dict[str, object] = {"session_id": sold_out.session_id, "hold_id": waiting}
    own_ids: dict[str, dict[str, object]] = {
        "holdfast_hold_remove": {"hold_id": waiting},
        "holdfast_waitlist_serve": party,
        "holdfast_waitlist_promote": party,
        "holdfast_waitlist_remove": party,
        "holdfast_event_clear": {"row_id": cancelled.event_id},
        "holdfast_session_clear": {"row_id": cancelled.session_id},
        "holdfast_order_refund": {"order_id": unrefunded["order_id"]},
    }
    return Furnished(platform, staff, rows, ids, own_ids)


def _done(answer: Any) -> None:
    assert answer.status_code == 200, answer.text


def _paid(platform: Platform, sale: Sale) -> Json:
    """The order."""
    hold = platform.place(sale, 2, user_id=BUYER).json()
    checkout = platform.made("/api/checkouts", {"hold_ids": [hold["hold_id"]]})
    return platform.made(f"/api/checkouts/{checkout['checkout_id']}/complete", PAID)


def _unrefunded(platform: Platform) -> Json:
    """A partly cancelled order: its void ticket has no refund reference."""
    order = _paid(platform, platform.on_sale(2))
    cancelled = {"reason": "Ann is ill", "ticket_ids": [order["tickets"][0]["ticket_id"]]}
    _done(platform.client.post(f"/api/orders/{order['order_id']}/cancel", json=cancelled))
    return order


def _held(platform: Platform, hall: Hall) -> str:
    wanted = {"session_id": hall.session_id, "seat_ids": [hall.row(0)[0]]}
    return str(platform.made("/api/holds", wanted | {"customer_email": ANN})["hold_id"])


def _waiting(platform: Platform, sale: Sale) -> str:
    """A party on the waitlist of a session that is sold out."""
    assert platform.place(sale, 2).status_code == 201
    answer = platform.place(sale, 1, customer_email=ANN)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["hold_id"])


def _cancelled(platform: Platform) -> Sale:
    """A cancelled session of a cancelled event, with a hold and an order."""
    sale = platform.on_sale(5, hold_policy=LASTING)
    _paid(platform, sale)
    assert platform.place(sale, 1).status_code == 201
    for path in (f"/api/sessions/{sale.session_id}", f"/api/events/{sale.event_id}"):
        _done(platform.client.patch(path, json={"status": "cancelled"}))
    return sale


def _rows_made_by_the_server(owner_url: str, own: str) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    with psycopg.connect(owner_url) as owner:
        for model, table in TABLES.items():
            column = "seq" if model in {"fact", "auditentry"} else "id"
            sql = f"SELECT {column} FROM {table} WHERE organization_id = %s LIMIT 1"
            row = owner.execute(sql.encode(), [own]).fetchone()
            assert row is not None, model
            found[model] = (row[0],)
    return found


@dataclass(frozen=True)
class Address:
    """`name` is that of the URL; `model` is "" for a page of no model."""

    name: str
    model: str
    path: str


def addresses(own: Furnished, database_url: str) -> list[Address]:
    """Of every named URL that Django serves. The others only redirect."""
    setup_django(Settings(database_url=database_url))
    return [each for name, arguments in _urls() for each in _addresses_of(own, name, arguments)]


def _urls() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The name of each, and the names of its arguments."""
    from django.urls import get_resolver

    def walk(resolver: Any, space: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        for each in resolver.url_patterns:
            if hasattr(each, "url_patterns"):
                assert not each.pattern.regex.groupindex, "it has arguments that nobody fills"
                yield from walk(each, f"{each.namespace}:" if each.namespace else space)
            elif each.name:
                yield space + each.name, tuple(each.pattern.regex.groupindex)

    return walk(get_resolver(), "")


def _addresses_of(own: Furnished, url: str, arguments: tuple[str, ...]) -> Iterator[Address]:
    from django.urls import reverse

    name = url.removeprefix("admin:")
    of_model = name.removeprefix("holdfast_").removeprefix("auth_").split("_")[0]
    model = of_model if url.startswith("admin:") and of_model in own.rows else ""
    given = own.arguments(name, model)
    path = reverse(url, kwargs={each: given[each] for each in arguments})
    for query in own.queries().get(name, ("",)):
        yield Address(name, model, path + query)
    if name.endswith("_change") and "object_id" in arguments:
        for row in own.rows[model][1:]:
            yield Address(name, model, reverse(url, kwargs={"object_id": row}))
