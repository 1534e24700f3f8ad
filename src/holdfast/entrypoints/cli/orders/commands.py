"""`holdfast orders` and `holdfast sessions`."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from holdfast.bootstrap.holds.desk import AmbiguousHold, Unanswered
from holdfast.bootstrap.orders.desk import OrderDesk, UnknownRow, order_desk
from holdfast.bootstrap.settings import Settings
from holdfast.domain.amounts import written
from holdfast.domain.group.outcomes import OrderCancelled, Outcome, RefundRecorded
from holdfast.domain.ids import SessionId, TicketId
from holdfast.domain.orders.cancel_order import CancelOrder
from holdfast.domain.orders.record_refund import RecordRefund
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import InvalidValue
from holdfast.entrypoints.api.orders.answers import OrderAnswer, changed_answer
from holdfast.entrypoints.cli.holds.commands import add_reason
from holdfast.entrypoints.cli.terminal import (
    NO_ANSWER,
    CommandFailed,
    add_yes,
    confirm,
    needs_database,
    say,
    uuid_argument,
)
from holdfast.services.orders.clearing import Cleared


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    orders = commands.add_parser("orders", help="cancel orders, and record their refunds")
    actions = orders.add_subparsers(title="actions", metavar="ACTION", required=True)
    cancel = actions.add_parser(
        "cancel",
        help="cancel an order or some of its tickets",
        description="Makes the tickets void and frees their places at once. Holdfast does not "
        "refund the money. Exit code 0: cancelled; 1: refused, or no such order; 2: wrong usage.",
    )
    _add_order(cancel, "cancel only this ticket; may be repeated")
    cancel.add_argument("--refund-reference", help="of the refund at your payment provider")
    _add_common(cancel, "an order")
    cancel.set_defaults(run=cancel_order)
    refund = actions.add_parser(
        "refund",
        help="record the refund of void tickets",
        description="Keeps your payment provider's reference with the void tickets that have none. "
        "Holdfast does not move the money. Exit code 0: recorded; 1: refused, or no such order; "
        "2: wrong usage.",
    )
    _add_order(refund, "only of this ticket; may be repeated")
    refund.add_argument(
        "--refund-reference", required=True, help="of the refund at your payment provider"
    )
    _add_common(refund, "an order")
    refund.set_defaults(run=refund_order)
    sessions = commands.add_parser("sessions", help="cancel a session with its holds and orders")
    actions = sessions.add_subparsers(title="actions", metavar="ACTION", required=True)
    cancel = actions.add_parser(
        "cancel",
        help="cancel a session with its holds and orders",
        description="Ends the sale of the session, releases its holds, empties its waitlist and "
        "cancels its orders, a few at a time. If it is interrupted, run it again. Exit code 0: "
        "done; 1: some holds or orders are left, or there is no such session; 2: wrong usage.",
    )
    cancel.add_argument("session", type=uuid_argument, help="its id")
    _add_common(cancel, "a session")
    cancel.set_defaults(run=cancel_session)


def _add_order(action: argparse.ArgumentParser, about_tickets: str) -> None:
    action.add_argument("order", help="its id, or the reference or id of one of its holds")
    action.add_argument(
        "--ticket",
        dest="tickets",
        type=uuid_argument,
        action="append",
        default=[],
        metavar="ID",
        help=about_tickets,
    )


def _add_common(action: argparse.ArgumentParser, what: str) -> None:
    action.add_argument(
        "--organization",
        type=uuid_argument,
        metavar="ID",
        help=f"look only here; needed if several organizations have such {what}",
    )
    add_reason(action)
    action.add_argument("--json", action="store_true", help="print the result as JSON")
    add_yes(action)


def cancel_order(settings: Settings, options: argparse.Namespace) -> int:
    with _desk(settings, "order") as desk:
        order = desk.order(options.order, options.organization)
        asked = tuple(map(TicketId, options.tickets))
        left = sum(not ticket.is_void for ticket in order.tickets)
        what = f"{len(asked)} of its {left}" if asked else f"its {left}"
        confirm(f"Order {order.id}: {what} ticket(s) become void at once. Cancel?", options)
        with _valid_usage():
            command = CancelOrder(
                order.organization_id,
                order.id,
                asked,
                desk.origin(options.reason),
                options.refund_reference,
                order.version,
            )
        outcome = _unrefused(desk.act(command))
    assert isinstance(outcome, OrderCancelled)
    if options.json:
        _say(changed_answer(outcome))
    else:
        count, amount = len(outcome.ticket_ids), written(outcome.amount)
        status = outcome.order.status.value.replace("_", " ")
        say(f"Cancelled {count} ticket(s) of order {order.id}, which is now {status}.")
        say(f"Refund {amount} to the buyer.")
    return 0


def refund_order(settings: Settings, options: argparse.Namespace) -> int:
    with _desk(settings, "order") as desk:
        order = desk.order(options.order, options.organization)
        asked = tuple(map(TicketId, options.tickets))
        reference = options.refund_reference
        which = f"{len(asked)} void ticket(s)" if asked else "all void tickets without a refund"
        confirm(f"Order {order.id}: record refund {reference} for {which}, for good?", options)
        origin = desk.origin(options.reason)
        with _valid_usage():
            command = RecordRefund(order.organization_id, order.id, reference, asked, origin)
        outcome = _unrefused(desk.act(command))
    assert isinstance(outcome, RefundRecorded)
    if options.json:
        _say(changed_answer(outcome))
    else:
        count = len(outcome.ticket_ids)
        say(f"Recorded refund {reference} for {count} ticket(s) of order {order.id}.")
    return 0


@contextmanager
def _valid_usage() -> Iterator[None]:
    try:
        yield
    except InvalidValue as error:
        raise CommandFailed(error.message) from None


def _unrefused(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Refusal):
        raise CommandFailed(f"{outcome.message} ({outcome.code.value})")
    return outcome


def _say(answer: OrderAnswer) -> None:
    say(msgspec.json.format(msgspec.json.encode(answer)).decode())


def cancel_session(settings: Settings, options: argparse.Namespace) -> int:
    with _desk(settings, "session") as desk:
        organization_id, session = desk.session(SessionId(options.session), options.organization)
        confirm(
            f"{session.name}: its sale ends, and all its holds and orders are cancelled. "
            "This cannot be undone. Cancel it?",
            options,
        )
        report = _ignore if options.json else _show_progress
        done = desk.cancel_session(organization_id, session.id, options.reason, report)
    if isinstance(done, Refusal):
        raise CommandFailed(f"{done.message} ({done.code.value})")
    if options.json:
        say(msgspec.json.encode(done).decode())
    elif done.failed:
        say(f"Failed to cancel {done.failed:,} hold(s) or order(s). Run this again.")
    return 1 if done.failed else 0


def _show_progress(cleared: Cleared) -> None:
    say(
        f"Released {cleared.holds:,} hold(s), cancelled {cleared.orders:,} order(s) with "
        f"{cleared.tickets:,} ticket(s)."
    )


def _ignore(_: Cleared) -> None:
    """The result alone is printed."""


@contextmanager
def _desk(settings: Settings, what: str) -> Iterator[OrderDesk]:
    try:
        with needs_database(f"the {what} could not be changed"), order_desk(settings) as desk:
            yield desk
    except Unanswered:
        raise CommandFailed(NO_ANSWER) from None
    except UnknownRow:
        raise CommandFailed(f"there is no such {what}") from None
    except AmbiguousHold as error:
        sides = (f"{each.organization_id} ({each.name}, {each.mode})" for each in error.sides)
        raise CommandFailed(
            f"several organizations have a match. Pass --organization: {', '.join(sides)}"
        ) from None
