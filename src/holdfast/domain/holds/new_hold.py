"""Creates new holds: active ones and waiting ones."""

from datetime import datetime, timedelta

from holdfast.domain.catalog.model import SessionCatalogue
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.holds.hold import (
    Hold,
    HoldStatus,
    Line,
    WaitingPlace,
    rounded_up,
    warning_time,
)
from holdfast.domain.holds.placement import Placement

Lines = tuple[Line, ...]


def placed_hold(
    ledger: Ledger, session: SessionCatalogue, command: Placement, lines: Lines
) -> Hold:
    # With several ticket types, the shortest time to live wins.
    policies = [session.offers[line.ticket_type_id].policy for line in lines]
    ttl_seconds = min(policy.ttl_seconds for policy in policies)
    expires_at = rounded_up(ledger.now) + timedelta(seconds=ttl_seconds)
    warning_seconds = max(policy.warning_seconds for policy in policies)
    warn_at = warning_time(ledger.now, expires_at, warning_seconds)
    return _hold(ledger, session, command, lines, expires_at, warn_at=warn_at)


def waiting_hold(
    ledger: Ledger,
    session: SessionCatalogue,
    command: Placement,
    lines: Lines,
    place: WaitingPlace,
) -> Hold:
    """A hold that waits for the shortest time its policies allow, at most until sales end."""
    policies = (session.offers[line.ticket_type_id].policy for line in lines)
    seconds = min(policy.waiting_seconds for policy in policies)
    start = rounded_up(ledger.now)
    until = start + timedelta(seconds=seconds)
    if session.sale.ends_at is not None:
        until = max(min(until, rounded_up(session.sale.ends_at)), start + timedelta(seconds=1))
    return _hold(ledger, session, command, lines, until, waiting=place)


def _hold(
    ledger: Ledger,
    session: SessionCatalogue,
    command: Placement,
    lines: Lines,
    expires_at: datetime,
    *,
    warn_at: datetime | None = None,
    waiting: WaitingPlace | None = None,
) -> Hold:
    return Hold(
        organization_id=command.organization_id,
        id=command.hold_id,
        session_id=command.session_id,
        reference=ledger.references[command.hold_key],
        holder=command.holder,
        lines=lines,
        currency=session.currency,
        status=HoldStatus.ACTIVE if waiting is None else HoldStatus.WAITING,
        version=1,
        created_at=ledger.now,
        updated_at=ledger.now,
        held_at=ledger.now if waiting is None else None,
        expires_at=expires_at,
        remarks=command.remarks,
        warn_at=warn_at,
        is_cart=command.is_cart,
        waiting=waiting,
    )
