"""The SQL of checkouts and orders."""

from holdfast.adapters.postgres.holds.rows import HOLD_COLUMNS
from holdfast.adapters.postgres.orders.rows import ORDER_COLUMNS
from holdfast.domain.orders.order import OrderStatus

CHECKOUT = """
SELECT hold_ids, created_at, statement_timestamp()
FROM checkout WHERE organization_id = %s AND id = %s
"""

HOLDS = f"""
SELECT {HOLD_COLUMNS} FROM hold h WHERE h.organization_id = %s AND h.id = ANY (%s::uuid[])
"""  # noqa: S608

ORDER = f"""
SELECT {ORDER_COLUMNS} FROM purchase_order o WHERE o.organization_id = %s AND o.id = %s
"""  # noqa: S608

# For the engine: how large orders are, the orders, and later whether they have changed since.
ORDER_SIZES = """
SELECT o.organization_id, o.id, o.hold_ids, o.tickets
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT organization_id, id, hold_ids, (
        SELECT coalesce(max(t.position) + 1, 0) FROM ticket t
        WHERE t.organization_id = wanted.organization_id AND t.order_id = wanted.id) AS tickets
    FROM purchase_order
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    OFFSET 0
) o
"""
SURVEY_ORDERS = f"""
SELECT {ORDER_COLUMNS}
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT * FROM purchase_order
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    OFFSET 0
) o
"""  # noqa: S608
ORDER_VERSIONS = """
SELECT o.organization_id, o.id, o.version
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT organization_id, id, version FROM purchase_order
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    OFFSET 0
) o
"""

# One probe for each organization.
TICKETS_WITH_CODE = """
SELECT t.organization_id, t.id FROM unnest(%s::uuid[]) AS own (id) CROSS JOIN LATERAL (
    SELECT organization_id, id FROM ticket
    WHERE organization_id = own.id AND code = %s OFFSET 0) t
"""

# Limits the number of orders and of tickets; `found` shows whether there are more. The last
# position gives an order's number of tickets without reading thousands of them.
ORDERS = f"""
WITH newest AS (
    SELECT o.* FROM ({{candidates}}) c
    JOIN purchase_order o ON o.organization_id = %(organization_id)s AND o.id = c.id
    ORDER BY o.created_at DESC, o.id DESC LIMIT %(size)s + 1),
counted AS (
    SELECT n.*, count(*) OVER () AS found, row_number() OVER down AS number,
        sum((SELECT max(t.position) + 1 FROM ticket t WHERE t.organization_id = n.organization_id
             AND t.order_id = n.id)) OVER down AS tickets
    FROM newest n WINDOW down AS (ORDER BY n.created_at DESC, n.id DESC))
SELECT o.found, {ORDER_COLUMNS} FROM counted o
WHERE o.number <= %(size)s AND (o.number = 1 OR o.tickets <= %(tickets_max)s)
ORDER BY o.number
"""  # noqa: S608
CANDIDATES = """
SELECT x.created_at AS at, x.id FROM purchase_order x WHERE {conditions}
ORDER BY x.created_at DESC, x.id DESC LIMIT %(size)s + 1
"""
# The orders of a session are found by its holds, which were confirmed when the order was made. An
# order may have several of them.
CANDIDATES_OF_SESSION = """
SELECT DISTINCT x.confirmed_at AS at, x.order_id AS id FROM hold x
WHERE {conditions} AND x.session_id = {session} AND x.order_id IS NOT NULL
ORDER BY x.confirmed_at DESC, x.order_id DESC LIMIT %(size)s + 1
"""
CANDIDATES_OF_EVENT = """
SELECT DISTINCT c.at, c.id FROM session s CROSS JOIN LATERAL ({of_session}) c
WHERE s.organization_id = %(organization_id)s AND s.event_id = %(event_id)s {narrowed}
ORDER BY c.at DESC, c.id DESC LIMIT %(size)s + 1
"""
# After a rotation of the secret, an address has several keys. Each is looked up by itself: for all
# together, the planner would collect and sort every order of the address.
CANDIDATES_OF_EMAIL = """
SELECT DISTINCT c.at, c.id FROM unnest(%(email)s::uuid[]) AS k (email_key)
CROSS JOIN LATERAL ({of_key}) c
ORDER BY c.at DESC, c.id DESC LIMIT %(size)s + 1
"""
# Conditions on an order, or on a hold that has one: `at` and `id` are the order's.
CONDITIONS = {
    "user_id": "x.user_id = %(user_id)s",
    "is_without_user": "x.user_id IS NULL",
    "email": "x.email_key = k.email_key",
    "created_from": "{at} >= %(created_from)s",
    "created_before": "{at} < %(created_before)s",
    "after": "({at}, {id}) < (%(after)s, %(after_id)s)",
    "payment_reference": """{id} IN (
    SELECT p.id FROM purchase_order p WHERE p.organization_id = %(organization_id)s
        AND p.payment_reference = %(payment_reference)s)""",
    "ticket_code": """{id} = (
    SELECT t.order_id FROM ticket t WHERE t.organization_id = %(organization_id)s
        AND t.code = %(ticket_code)s)""",
    # An expired hold that was paid late leads to the order of its replacement.
    "hold_ids": """{id} IN (
    SELECT h.order_id FROM hold h
    WHERE h.organization_id = %(organization_id)s AND h.id = ANY (%(hold_ids)s))""",
}


def status_condition(status: OrderStatus, *, is_of_session: bool) -> str:
    """The status is written out, because a plan for any status could not use the partial index of
    cancelled orders. Orders of a session are found by its holds, which do not have it."""
    if not is_of_session:
        return f"x.status = '{status.value}'"
    return f"""(
    SELECT p.status FROM purchase_order p
    WHERE p.organization_id = x.organization_id AND p.id = {{id}}) = '{status.value}'"""  # noqa: S608


HOLD_OF_REFERENCE = "SELECT id FROM hold WHERE organization_id = %s AND reference = %s"
