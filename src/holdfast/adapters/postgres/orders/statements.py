"""The SQL of checkouts and orders."""

from holdfast.adapters.postgres.engine.statements import HOLD_COLUMNS

CHECKOUT = """
SELECT hold_ids, created_at, statement_timestamp()
FROM checkout WHERE organization_id = %s AND id = %s
"""

HOLDS = f"""
SELECT {HOLD_COLUMNS} FROM hold h WHERE h.organization_id = %s AND h.id = ANY (%s::uuid[])
"""  # noqa: S608

_ORDER_COLUMNS = """
o.organization_id, o.id, o.checkout_id, o.hold_ids, o.customer_email, o.user_id, o.total_minor,
o.currency, o.payment_reference, o.created_at,
(SELECT json_agg(json_build_array(
     json_build_array(t.id, t.hold_id, t.session_id, t.ticket_type_id), t.code,
     t.unit_price_minor, json_build_array(t.attendee_name, t.attendee_email),
     CASE WHEN t.seat_id IS NOT NULL THEN (
         SELECT json_build_array(s.id, s.block_id, b.name, s.row_name, s.number, s.position,
             s.is_accessible)
         FROM seat s JOIN block b ON b.organization_id = s.organization_id AND b.id = s.block_id
         WHERE s.organization_id = t.organization_id AND s.id = t.seat_id) END)
     ORDER BY t.position)
 FROM ticket t WHERE t.organization_id = o.organization_id AND t.order_id = o.id)
"""

ORDER = f"""
SELECT {_ORDER_COLUMNS} FROM purchase_order o WHERE o.organization_id = %s AND o.id = %s
"""  # noqa: S608

# Up to a number of orders and of tickets; `found` tells whether there is more. The last position
# says how many tickets an order has, without reading the thousands that it may have.
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
SELECT {_ORDER_COLUMNS}, o.found FROM counted o
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
# Conditions on an order, or on a hold that has one: `at` and `id` are the order's.
CONDITIONS = {
    "user_id": "x.user_id = %(user_id)s",
    "email": "x.email_key = %(email)s",
    "created_from": "{at} >= %(created_from)s",
    "created_before": "{at} < %(created_before)s",
    "after": "({at}, {id}) < (%(after)s, %(after_id)s)",
    "payment_reference": """{id} IN (
    SELECT p.id FROM purchase_order p WHERE p.organization_id = %(organization_id)s
        AND p.payment_reference = %(payment_reference)s)""",
    # A hold that a late payment revived leads to the order of the one that stands for it.
    "hold_ids": """{id} IN (
    SELECT h.order_id FROM hold h
    WHERE h.organization_id = %(organization_id)s AND h.id = ANY (%(hold_ids)s))""",
}
HOLD_OF_REFERENCE = "SELECT id FROM hold WHERE organization_id = %s AND reference = %s"
