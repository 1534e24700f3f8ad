"""The SQL that reads reservations."""

from holdfast.adapters.postgres.holds.rows import HOLD_COLUMNS

# Merged from one part per status: each follows an index and stops at the page size.
LIST_RESERVATIONS = f"""
SELECT {HOLD_COLUMNS}
FROM ({{parts}}) h ORDER BY h.created_at, h.id LIMIT %(limit)s
"""  # noqa: S608
LIST_PART = """(
    SELECT * FROM hold
    WHERE organization_id = %(organization_id)s AND status = '{status}' AND {after}
    ORDER BY created_at, id LIMIT %(limit)s)"""
AFTER = "(created_at, id) > (%(after)s, %(after_id)s)"

ORGANIZATIONS_OF_SESSION = "SELECT holdfast_organizations_of_session(%s)"
