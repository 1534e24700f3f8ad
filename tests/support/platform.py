"""A ticketing platform as Holdfast sees it: an organization with an API key that sets up its sale
through the API alone."""

import re
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
from uuid_utils.compat import uuid7

from holdfast.adapters.postgres.access.organizations import PostgresOrganizations
from holdfast.domain.access.scopes import ALL_SCOPES, Mode
from holdfast.domain.ids import OrganizationId
from holdfast.services.access.authentication import new_secret_key

Json = dict[str, Any]
EMAIL_HEADER = "X-Customer-Email"
CODE_HEADER = "X-Ticket-Code"

_NULL = re.compile(rb"[\[:,]null[\],}]")


@dataclass(frozen=True)
class Sale:
    """A session on sale and its ticket types."""

    event_id: str
    session_id: str
    ticket_type_ids: tuple[str, ...]

    @property
    def ticket_type_id(self) -> str:
        return self.ticket_type_ids[0]


@dataclass(frozen=True)
class Hall:
    """A session on sale with the seats of one block."""

    event_id: str
    session_id: str
    block_id: str
    ticket_type_id: str
    seat_ids: tuple[str, ...]  # row by row, left to right
    seats_per_row: int

    def row(self, number: int) -> tuple[str, ...]:
        """The seats of a row, counted from 0."""
        start = number * self.seats_per_row
        return self.seat_ids[start : start + self.seats_per_row]


@dataclass
class Platform:
    base_url: str
    secret_key: str
    organization_id: str
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = httpx.Client(
            base_url=self.base_url,
            headers={"Authorization": f"Bearer {self.secret_key}"},
            timeout=60,
            # Loading certificates would take longer than most requests here.
            verify=False,
            event_hooks={"response": [_refuse_nulls]},
        )

    def token(self, **body: Any) -> str:
        """A holder token for a buyer."""
        return str(self.made("/api/holder-tokens", body)["token"])

    def buyer(self, token: str | None = None, **body: Any) -> httpx.Client:
        """A buyer's browser with a holder token."""
        token = token or self.token(**(body or {"user_id": f"user-{uuid4().hex[:8]}"}))
        return Platform(self.base_url, token, self.organization_id).client

    def made(self, path: str, body: Json) -> Json:
        answer = self.client.post(path, json=body)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def on_sale(
        self, *capacities: int, price: int = 4500, currency: str = "EUR", **ticket_type: Any
    ) -> Sale:
        """A session with one ticket type per capacity."""
        event = self.made("/api/events", {"name": "Concert", "currency": currency})
        session = self.made("/api/sessions", {"event_id": event["event_id"], "name": "Friday"})
        types = [
            self.made(
                "/api/ticket-types",
                {
                    "session_id": session["session_id"],
                    "name": f"Type {number}",
                    "price": price,
                    "capacity": capacity,
                    **ticket_type,
                },
            )
            for number, capacity in enumerate(capacities)
        ]
        return Sale(
            event["event_id"],
            session["session_id"],
            tuple(made["ticket_type_id"] for made in types),
        )

    def hall(
        self, rows: int, seats_per_row: int, *, capacity: int | None = None, **ticket_type: Any
    ) -> Hall:
        """A session with one seated ticket type and one block of rows 1, 2, 3 and so on."""
        event = self.made("/api/events", {"name": "Play", "currency": "EUR"})
        session = self.made("/api/sessions", {"event_id": event["event_id"], "name": "Friday"})
        seated = {
            "session_id": session["session_id"],
            "name": "Seat",
            "price": 4500,
            "is_seated": True,
        }
        made = self.made("/api/ticket-types", seated | ticket_type)
        block: Json = {
            "name": "Stalls",
            "rows": {"from": "1", "to": str(rows)},
            "seats_per_row": seats_per_row,
            "capacity": capacity,
        }
        seats = f"/api/sessions/{session['session_id']}/seats"
        imported = self.made(seats, {"blocks": [block]})
        (drawn,) = self.client.get(seats).json()["blocks"]
        seat_ids = tuple(
            row["seat_id_prefix"] + each
            for row in drawn["rows"]
            for each in row["seat_id_suffixes"]
        )
        assert len(seat_ids) == imported["seats_added"] == rows * seats_per_row
        (added,) = imported["blocks"]
        return Hall(
            event["event_id"],
            session["session_id"],
            added["block_id"],
            made["ticket_type_id"],
            seat_ids,
            seats_per_row,
        )

    def hold_body(self, sale: Sale, quantity: int = 1, **more: Any) -> Json:
        return {
            "session_id": sale.session_id,
            "ticket_type_id": sale.ticket_type_id,
            "quantity": quantity,
            "customer_email": f"buyer-{uuid4().hex[:8]}@example.com",
        } | more

    def place(
        self, sale: Sale, quantity: int = 1, key: str | None = None, **more: Any
    ) -> httpx.Response:
        headers = {"Idempotency-Key": key} if key else {}
        body = self.hold_body(sale, quantity, **more)
        return self.client.post("/api/holds", json=body, headers=headers)

    def available(self, sale: Sale) -> list[int]:
        answer = self.client.get(f"/api/sessions/{sale.session_id}/availability")
        assert answer.status_code == 200, answer.text
        return [offered["available"] for offered in answer.json()["ticket_types"]]


def sent(**filters: Any) -> Json:
    """The filters as httpx takes them: addresses and ticket codes are sent in headers."""
    named = {"customer_email": EMAIL_HEADER, "ticket_code": CODE_HEADER}
    headers = {header: filters.pop(name) for name, header in named.items() if name in filters}
    return {"params": filters, "headers": headers}


def _refuse_nulls(response: httpx.Response) -> None:
    """Check that the answer leaves out fields without a value."""
    is_schema = response.url.path == "/api/schema"
    if not is_schema and response.headers.get("content-type") in {
        "application/json",
        "application/problem+json",
    }:
        assert not _NULL.search(response.read()), response.text


def new_platform(base_url: str, owner_url: str, scopes: tuple[str, ...] | None = None) -> Platform:
    organization_id = OrganizationId(uuid7())
    secret, key = new_secret_key(Mode.TEST)
    PostgresOrganizations(owner_url).create(
        organization_id, "Test organization", [key], scopes=scopes or ALL_SCOPES
    )
    return Platform(base_url, secret, str(organization_id))
