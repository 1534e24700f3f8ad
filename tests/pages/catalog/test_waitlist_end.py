"""A change that ends a waitlist says so first, and needs a tick."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from holdfast.domain.group.origin import Origin
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import Ask
from holdfast.domain.ids import HoldId, OrganizationId, SessionId, TicketTypeId
from holdfast.domain.values import EmailAddress, Holder, Quantity
from holdfast.entrypoints.admin.apps import AdminConfig
from tests.pages.catalog.conftest import Desk
from tests.support.patience import PATIENCE_SECONDS

WARNING = "2 parties are on the waitlist; it ends now and cannot be restored"
PAST = f"{datetime.now(UTC) - timedelta(days=2):%Y-%m-%dT%H:%M}"
FUTURE = f"{datetime.now(UTC) + timedelta(days=20):%Y-%m-%dT%H:%M}"


def place(desk: Desk, session_id: UUID, ticket_type_id: UUID, name: str) -> None:
    command = PlaceHold(
        OrganizationId(desk.sale.organization_id),
        SessionId(session_id),
        HoldId(UUID(str(uuid7()))),
        Holder(EmailAddress(f"{name}@example.com")),
        (Ask(TicketTypeId(ticket_type_id), Quantity(1)),),
        Origin("test", str(uuid7())),
    )
    AdminConfig.services.submit.submit(command).result(PATIENCE_SECONDS)


def waiting(desk: Desk, session_id: UUID) -> int:
    ((count,),) = desk.rows(
        "SELECT count(*) FROM hold WHERE session_id = %s AND status = 'waiting'", session_id
    )
    return int(count)


@pytest.fixture
def session_id(desk: Desk) -> UUID:
    """One ticket, which is held, and two parties that wait for it."""
    event_id = desk.event()
    session_id = desk.session(event_id, starts_at=FUTURE)
    ticket_type_id = desk.ticket_type(session_id, capacity="1")
    desk.save(f"event/{event_id}/publish/")
    desk.rows("UPDATE ticket_type SET waitlist = true WHERE id = %s RETURNING 1", ticket_type_id)
    desk.rows("UPDATE session SET version = version + 1 WHERE id = %s RETURNING 1", session_id)
    for name in ("ann", "bob", "eve"):
        place(desk, session_id, ticket_type_id, name)
    assert waiting(desk, session_id) == 2
    return session_id


def edits(desk: Desk, session_id: UUID) -> dict[str, tuple[str, dict[str, str]]]:
    ((event_id,),) = desk.rows("SELECT event_id FROM session WHERE id = %s", session_id)
    return {
        "start": (f"session/{session_id}/edit/", {"name": "Friday", "starts_at": PAST}),
        "end": (f"event/{event_id}/edit/", {"name": "Summer nights", "sale_ends_at": PAST}),
    }


@pytest.mark.parametrize("which", ["start", "end"])
def test_a_time_in_the_past_ends_the_waitlist_only_with_a_tick(
    desk: Desk, session_id: UUID, which: str
) -> None:
    path, given = edits(desk, session_id)[which]
    form = desk.get(path)
    assert "in the past ends the waitlist for good" in form
    assert WARNING not in form
    page = desk.refused(path, **given)
    assert WARNING in page
    assert "This time is in the past" in page
    assert waiting(desk, session_id) == 2
    desk.save(path, **given, ends_waitlist="on")
    assert waiting(desk, session_id) == 0


@pytest.mark.parametrize("which", ["start", "end"])
def test_a_time_to_come_needs_no_tick(desk: Desk, session_id: UUID, which: str) -> None:
    path, given = edits(desk, session_id)[which]
    desk.save(path, **{name: FUTURE if value == PAST else value for name, value in given.items()})
    assert waiting(desk, session_id) == 2


@pytest.mark.parametrize("which", ["start", "end"])
def test_without_a_waitlist_a_time_in_the_past_needs_no_tick(desk: Desk, which: str) -> None:
    path, given = edits(desk, desk.session(desk.event(), starts_at=FUTURE))[which]
    desk.save(path, **given)


def test_an_event_whose_sale_has_ended_does_not_open(desk: Desk) -> None:
    event_id = desk.event(sale_ends_at="2020-01-01T10:00")
    page = desk.get(f"event/{event_id}/publish/")
    assert "The sale ended on Wed 2020-01-01 10:00 (UTC)" in page
    assert "opens" not in page.partition("Buyers can see")[2].partition("draft")[0]
