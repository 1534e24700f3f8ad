"""Cancelling an event or a session in the admin, with its orders and holds."""

import re
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client

from holdfast.adapters.postgres.access.settings import PostgresOrganizationSettings
from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.facts.inbox import PostgresInbox
from holdfast.adapters.postgres.facts.outbox import PostgresFactLog
from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.adapters.postgres.mails.templates import PostgresMailTemplates
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.domain import refusals
from holdfast.domain.group.command import Command
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.orders.order import Order, OrderStatus
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.values import EmailAddress, Holder
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.ports.engine import Answer, Render
from holdfast.ports.facts.deliveries import NOTIFIED_TYPES
from holdfast.ports.facts.log import Handled
from holdfast.ports.facts.notices import Notice
from holdfast.ports.store import StoreUnavailable
from holdfast.services.facts.envelope import message_of
from holdfast.services.facts.notices import NoticeSender
from holdfast.services.orders import clearing
from tests.consuming.shop import a_buyer
from tests.contract.asking import converted, placed, refused, waiting
from tests.pages.desk import Desk, opened, text_of
from tests.pages.sales import Sale
from tests.pages.staff import browser_of
from tests.support.people import PASSWORD, add_staff

_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')
IF_PAID = "If you have already paid, please contact us."
TOLD = "get an e-mail, if e-mails are turned on."
_BAR = re.compile(r'<progress [^>]*value="(\d+)" max="(\d+)">')
ANN = Holder(EmailAddress("ann@example.com"))


@pytest.fixture
def desk(
    database_url: str, database: Database, sale: Sale, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    """After the sale, whose services know no engine."""
    for desk in opened(database_url, monkeypatch):
        monkeypatch.setattr(
            AdminConfig.services, "catalog", PostgresCatalog(database), raising=False
        )
        yield desk


@pytest.fixture
def order(desk: Desk) -> Order:
    seats = desk.venue.seats("Parterre A 1", "Parterre A 2", holder=ANN)
    return converted(desk.engine, desk.venue.convert(placed(desk.engine, seats).id)).order


@pytest.fixture
def hold(desk: Desk) -> Hold:
    return placed(desk.engine, desk.venue.place(("Standing", 2), holder=ANN))


def url(desk: Desk, model: str, name: str) -> str:
    row_id: Any = desk.venue.session_id
    if model == "event":
        with desk.world.connected() as connection:
            query = "SELECT event_id FROM session WHERE organization_id = %s AND id = %s"
            found = connection.execute(query, [desk.venue.organization_id, row_id]).fetchone()
        assert found is not None
        (row_id,) = found
    return f"/admin/holdfast/{model}/{row_id}/{name}/"


def confirm(client: Client, desk: Desk, model: str, name: str, **given: Any) -> Any:
    form = {"reason": "The band is ill", **given}
    answer = client.post(url(desk, model, name), form, follow=True)
    assert answer.status_code == 200
    return answer


def press_continue(client: Client, desk: Desk, model: str, answer: Any) -> Any:
    form = dict(_HIDDEN.findall(answer.content.decode()))
    return client.post(url(desk, model, "clear"), form, follow=True)


def bar_of(answer: Any) -> tuple[int, int]:
    """What the bar shows, to the eye and in words."""
    ((done, everything),) = _BAR.findall(answer.content.decode())
    assert f"{done} of {everything} done" in text_of(answer)
    return int(done), int(everything)


def continued(client: Client, desk: Desk, model: str) -> tuple[str, list[tuple[int, int]]]:
    """Press Continue until it is done; the last page, and the bar of each page before it."""
    answer = confirm(client, desk, model, "clear")
    bars: list[tuple[int, int]] = []
    while b"holdfast/continue.js" in answer.content:
        assert "Leave this page open until it is done." in text_of(answer)
        bars.append(bar_of(answer))
        assert len(bars) < 50, "it never ends"
        answer = press_continue(client, desk, model, answer)
    return text_of(answer), bars


@pytest.fixture
def one_step_at_a_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.entrypoints.admin.catalog.clearing.SECONDS_PER_REQUEST", 0)
    monkeypatch.setattr(clearing, "HOLDS_PER_STEP", 1)


@pytest.mark.usefixtures("one_step_at_a_time")
@pytest.mark.parametrize("model", ["event", "session"])
def test_a_cancelled_sale_offers_to_cancel_its_orders_and_holds(
    operator: Client, desk: Desk, order: Order, hold: Hold, model: str
) -> None:
    asked = text_of(operator.get(url(desk, model, "cancel")))
    assert "has 1 live hold and 1 order" in asked
    assert f"The waitlist ends. Parties on it who gave an address {TOLD}" in asked
    offered = text_of(confirm(operator, desk, model, "cancel"))
    assert "is cancelled." in offered
    assert "Release the holds and cancel the orders of" in offered
    assert desk.now(hold).occupies_places(), "nothing is cancelled before it is confirmed"
    text, bars = continued(operator, desk, model)
    done = [each for each, _ in bars]
    assert done == sorted(done), "the bar never goes back"
    assert {0, 1, 2} >= set(done) >= {1}
    assert {everything for _, everything in bars} == {2}, "one hold and one order"
    assert "Released 1 hold and cancelled 1 order with 2 tickets." in text
    assert desk.now(hold).is_cancelled()
    assert desk.world.orders(desk.venue)[order.id].status is OrderStatus.CANCELLED
    code = refused(desk.engine, desk.venue.place(("Standing", 1))).code
    assert code is RefusalCode.EVENT_UNAVAILABLE
    with desk.world.connected() as connection:
        audited = connection.execute(
            "SELECT count(*) FROM audit WHERE organization_id = %s AND seat_id IS NULL"
            " AND action IN ('order.cancelled', 'hold.cancelled')"
            " AND new ->> 'reason' = 'The band is ill'",
            [desk.venue.organization_id],
        ).fetchone()
    assert audited == (2,)


def test_an_order_whose_tickets_are_void_here_is_not_counted(
    operator: Client, desk: Desk, order: Order
) -> None:
    """Its other tickets are for a session that goes on."""
    assert "has no live holds and 1 order." in text_of(operator.get(url(desk, "session", "cancel")))
    with desk.world.connected() as connection:
        connection.execute(
            "UPDATE purchase_order SET status = 'partly_cancelled', version = 2"
            " WHERE organization_id = %s AND id = %s",
            [desk.venue.organization_id, order.id],
        )
        connection.execute(
            "UPDATE ticket SET voided_at = now(), voided_version = 2, void_reason = 'Ill'"
            " WHERE organization_id = %s AND order_id = %s",
            [desk.venue.organization_id, order.id],
        )
    assert "and no orders." in text_of(operator.get(url(desk, "session", "cancel")))


def test_every_buyer_gets_one_mail(operator: Client, desk: Desk, database: Database) -> None:
    """Of the cancellation of a paid order, a hold, and a party on the waitlist."""
    ann, bob, cleo = (a_buyer() for _ in range(3))
    seats = placed(desk.engine, desk.venue.seats("Parterre A 1", "Parterre A 2", holder=ann))
    converted(desk.engine, desk.venue.convert(seats.id))
    placed(desk.engine, desk.venue.place(("Standing", 4), holder=bob))
    waiting(desk.engine, desk.venue.place(("Standing", 1), holder=cleo))
    confirm(operator, desk, "event", "cancel")
    asked = text_of(operator.get(url(desk, "event", "clear")))
    assert f"Buyers of these holds and orders who gave an address {TOLD}" in asked
    continued(operator, desk, "event")
    facts = PostgresFactLog(database).facts(desk.venue.organization_id, None, 1_000).items
    mails = Mails()
    sender = NoticeSender(
        PostgresInbox(database),
        mails,
        PostgresHolds(database),
        PostgresOrders(database),
        PostgresCatalog(database),
        PostgresOrganizationSettings(database),
        PostgresMailTemplates(database),
    )
    for fact in (*facts, *facts):
        if fact.type in NOTIFIED_TYPES:
            assert sender.handle(message_of(fact, None)) is Handled.DONE
    sent = {notice.to: notice.text.splitlines()[:2] for notice in mails.sent}
    assert len(mails.sent) == len(sent)
    is_over = "The event is cancelled."
    assert sent == {
        ann.email: [
            "We have cancelled 2 tickets in your order. The codes are no longer valid.",
            "",
        ],
        bob.email: [is_over, f"We are no longer holding 4 tickets for you. {IF_PAID}"],
        cleo.email: [
            is_over,
            "You are no longer on the waitlist. You were waiting for 1 ticket.",
        ],
    }
    assert "The band is ill" not in "".join(notice.text for notice in mails.sent)


@dataclass
class Mails:
    """Instead of a mail server."""

    sent: list[Notice] = field(default_factory=list)

    def send(self, notice: Notice) -> None:
        self.sent.append(notice)


class Unanswered:
    """Submits, but the first commands of a kind get no decision."""

    def __init__(self, desk: Desk, kind: type[Command], times: int) -> None:
        self._desk, self._kind, self._left = desk, kind, times

    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        if not isinstance(command, self._kind) or not self._left:
            return self._desk.engine.submit(command, render)
        self._left -= 1
        refused: Future[Answer] = Future()
        refused.set_result(Answer(refusals.service_unavailable()))
        return refused


@pytest.mark.usefixtures("one_step_at_a_time")
def test_what_could_not_be_cleared_is_counted_and_can_be_tried_again(
    operator: Client, desk: Desk, order: Order, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    confirm(operator, desk, "session", "cancel")
    monkeypatch.setattr(AdminConfig.services, "submit", Unanswered(desk, ReleaseHold, 1))
    text, bars = continued(operator, desk, "session")
    assert bars[-1] == (1, 2), "the failed hold is done with, too"
    assert "Released no holds and cancelled 1 order with 2 tickets." in text
    assert "1 could not be cancelled. Try again." in text
    assert desk.now(hold).occupies_places()
    text, _ = continued(operator, desk, "session")
    assert "Released 1 hold and cancelled no orders with no tickets." in text
    assert "could not be cancelled" not in text
    assert desk.now(hold).is_cancelled()


@pytest.mark.usefixtures("one_step_at_a_time")
def test_a_database_that_does_not_answer_stops_the_bar_until_somebody_presses_continue(
    operator: Client, desk: Desk, order: Order, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    confirm(operator, desk, "session", "cancel")
    orders = AdminConfig.services.orders
    monkeypatch.setattr(AdminConfig.services, "orders", SimpleNamespace(orders=_unavailable))
    answer = confirm(operator, desk, "session", "clear")
    while b"holdfast/continue.js" in answer.content:
        answer = press_continue(operator, desk, "session", answer)
    assert "The database does not answer. Press Continue to try again." in text_of(answer)
    assert bar_of(answer) == (1, 2)
    assert "Released 1 hold and cancelled no orders" in text_of(answer)
    monkeypatch.setattr(AdminConfig.services, "orders", orders)
    answer = press_continue(operator, desk, "session", answer)
    text = text_of(answer)
    assert "Released 1 hold and cancelled 1 order with 2 tickets." in text
    assert desk.world.orders(desk.venue)[order.id].status is OrderStatus.CANCELLED


def _unavailable(*_: Any) -> Any:
    raise StoreUnavailable


def test_a_sale_that_goes_on_is_not_cleared(
    operator: Client, desk: Desk, order: Order, hold: Hold
) -> None:
    text = text_of(confirm(operator, desk, "session", "clear"))
    assert "Cancel it first: otherwise its places would be sold again." in text
    assert desk.now(hold).occupies_places()


def test_a_made_up_position_changes_nothing(
    operator: Client, desk: Desk, order: Order, hold: Hold
) -> None:
    confirm(operator, desk, "session", "cancel")
    for position in ("x", "9 9", "1 2026-01-01 x"):
        text = text_of(confirm(operator, desk, "session", "clear", position=position))
        assert "Open this page again." in text
    assert desk.now(hold).occupies_places()


@pytest.mark.parametrize("role", ["support", "viewer"])
def test_only_people_who_may_change_the_catalog_cancel_a_session(
    database_url: str, desk: Desk, hold: Hold, role: str
) -> None:
    hashed = MD5PasswordHasher().encode(PASSWORD, "s" * 32)
    client = browser_of(add_staff(database_url, str(desk.venue.organization_id), role, hashed))
    for name in ("cancel", "clear"):
        assert client.get(url(desk, "session", name)).status_code == 403
        form = {"reason": "The band is ill"}
        assert client.post(url(desk, "session", name), form).status_code == 403
    assert desk.now(hold).occupies_places()
