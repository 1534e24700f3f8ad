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

# Limits the number of orders and of tickets; `found` shows whether there are more. The last
# position gives an order's number of tickets without reading thousands of them.
ORDERS = f"""
WITH newest AS (
    SELECT o.* FROM purchase_order o WHERE {{conditions}}
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
# An expired hold that was paid late leads to the order of its replacement.
OF_HOLD = """
o.id IN (SELECT h.order_id FROM hold h
         WHERE h.organization_id = %(organization_id)s AND h.id IN (%(hold_id)s, %(revival_id)s))"""
