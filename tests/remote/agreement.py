"""Whether the two services agree, as their databases say. It shares no code with the services."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.remote.layout import TwoServices
from tests.support.auditing import assert_sound, rows

# From any crash, the two services agree again within this time.
AGREEMENT_SECONDS_MAX = 60.0
POLL_SECONDS = 0.1

# What the Inventory Service should have for each hold. A lapsed hold holds nothing, expired or not.
OURS = """
SELECT h.id::text, h.session_id::text,
    CASE
        WHEN h.status = 'active' AND h.expires_at > statement_timestamp() THEN 'held'
        WHEN h.status = 'converted' THEN 'committed'
        WHEN h.status = 'pending' THEN 'pending'
        ELSE 'released'
    END,
    coalesce((
        SELECT json_object_agg(ticket_type_id, quantity) FROM (
            SELECT l.ticket_type_id, sum(l.quantity)::int AS quantity FROM hold_line l
            WHERE h.status = 'active' AND h.expires_at > statement_timestamp()
                AND (l.organization_id, l.hold_id) = (h.organization_id, h.id)
                AND l.removed_version IS NULL
            GROUP BY 1
            UNION ALL
            SELECT t.ticket_type_id, count(*)::int FROM ticket t
            WHERE h.status = 'converted' AND t.voided_at IS NULL
                AND (t.organization_id, t.hold_id) = (h.organization_id, h.id)
            GROUP BY 1
        ) counted), '{}')
FROM hold h
"""
THEIRS = """
SELECT h.id::text, h.session_id::text,
    CASE h.status
        WHEN 'active' THEN 'held' WHEN 'converted' THEN 'committed' WHEN 'cancelled' THEN 'released'
        ELSE h.status
    END,
    coalesce((
        SELECT json_object_agg(l.ticket_type_id, l.quantity) FROM hold_line l
        WHERE h.status <> 'cancelled' AND l.removed_version IS NULL
            AND (l.organization_id, l.hold_id) = (h.organization_id, h.id)), '{}')
FROM hold h
"""
# Their counters beside the sums of their own reservations.
POOLS = """
SELECT p.id::text, p.total, p.held, p.sold,
    coalesce(sum(l.quantity) FILTER (WHERE h.status = 'active'), 0)::int,
    coalesce(sum(l.quantity) FILTER (WHERE h.status = 'converted'), 0)::int
FROM pool p
LEFT JOIN (hold_line l JOIN hold h ON (h.organization_id, h.id) = (l.organization_id, l.hold_id))
    ON l.organization_id = p.organization_id AND p.id = ANY (l.pool_ids)
    AND l.removed_version IS NULL
GROUP BY p.organization_id, p.id
"""
# How many tickets of each type there are.
TOTALS = """
SELECT o.ticket_type_id::text, p.total FROM ticket_type_pool o
JOIN pool p ON (p.organization_id, p.id) = (o.organization_id, o.pool_id)
"""
CONTRADICTIONS = "SELECT hold_id::text, problem FROM inventory_task WHERE is_contradiction"


@dataclass(frozen=True)
class Side:
    """What one of the services has for a hold."""

    status: str
    quantities: Mapping[str, int] = field(default_factory=dict)
    session_id: str = ""

    def __str__(self) -> str:
        return f"{self.status} {list(self.quantities.values())}"


ABSENT = Side("absent")
NOTHING = {"absent", "released"}


def sides(url: str, query: str) -> dict[str, Side]:
    return {
        hold_id: Side(status, quantities, session_id)
        for hold_id, session_id, status, quantities in rows(url, query)
    }


def differences(services: TwoServices) -> list[str]:
    """The two databases are read one after the other, so what is under way may be listed, too."""
    ours_of = sides(services.holds.database_url, OURS)
    theirs_of = sides(services.inventory.database_url, THEIRS)
    found = [
        f"hold {hold_id}: {ours} here, {theirs} there"
        for hold_id in sorted(ours_of.keys() | theirs_of.keys())
        if not _agree(
            ours := ours_of.get(hold_id, ABSENT), theirs := theirs_of.get(hold_id, ABSENT)
        )
    ]
    found += [
        f"contradiction {hold_id}: {problem}"
        for hold_id, problem in rows(services.holds.database_url, CONTRADICTIONS)
    ]
    return found + list(_miscounted(services)) + oversold(services)


def _agree(ours: Side, theirs: Side) -> bool:
    if ours.status in NOTHING:
        return theirs.status in NOTHING
    if ours.status == "committed" and not ours.quantities and theirs.status in NOTHING:
        return True  # all tickets were cancelled before the other side was told of the sale
    return (ours.status, ours.quantities) == (theirs.status, theirs.quantities)


def _miscounted(services: TwoServices) -> Iterator[str]:
    for pool_id, total, *counted in rows(services.inventory.database_url, POOLS):
        held, sold, *summed = counted
        if [held, sold] != summed or held + sold > total:
            yield f"pool {pool_id}: {held} held and {sold} sold of {total}, but by rows {summed}"


def oversold(services: TwoServices) -> list[str]:
    """Ticket types of which buyers have more than there are. Never empty later, once it was not."""
    totals = dict(rows(services.inventory.database_url, TOTALS))
    has: dict[str, int] = {}
    for side in sides(services.holds.database_url, OURS).values():
        for ticket_type_id, quantity in side.quantities.items():
            has[ticket_type_id] = has.get(ticket_type_id, 0) + quantity
    return [
        f"oversold: buyers have {quantity} of {totals.get(ticket_type_id, 0)} {ticket_type_id}"
        for ticket_type_id, quantity in has.items()
        if quantity > totals.get(ticket_type_id, 0)
    ]


def assert_agree(services: TwoServices) -> float:
    """Wait until both agree; returns the seconds that it took."""
    started = time.monotonic()
    while found := differences(services):
        seconds = time.monotonic() - started
        assert seconds < AGREEMENT_SECONDS_MAX, "they do not agree:\n" + "\n".join(found)
        time.sleep(POLL_SECONDS)
    for server in (services.holds, services.inventory):
        assert_sound(server.database_url)
    return time.monotonic() - started
