"""Queries of the reaper and the promoter, and the open holds of a holder (0006_duties.sql)."""

from pathlib import Path

from django.db import migrations

DUTIES = Path(__file__).with_name("0006_duties.sql").read_text(encoding="utf-8")

DROP = """
DROP INDEX hold_by_email, hold_by_user;
CREATE INDEX hold_by_email ON hold (organization_id, email_key, session_id)
    WHERE email_key IS NOT NULL;
CREATE INDEX hold_by_user ON hold (organization_id, user_id, session_id) WHERE user_id IS NOT NULL;
DROP TABLE promoter_lease;
DROP FUNCTION holdfast_due_holds(integer, uuid[]);
CREATE FUNCTION holdfast_due_holds(row_limit integer)
    RETURNS TABLE (organization_id uuid, session_id uuid, id uuid, is_lapsed boolean,
        quantity integer)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT h.organization_id, h.session_id, h.id, h.expires_at <= statement_timestamp(), h.quantity
    FROM hold h
    WHERE h.status IN ('waiting', 'active') AND h.due_at <= statement_timestamp()
    ORDER BY h.due_at
    LIMIT row_limit
$$;
REVOKE ALL ON FUNCTION holdfast_due_holds(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_due_holds(integer) TO holdfast_app;
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0005_carts")]
    operations = [migrations.RunSQL(DUTIES, DROP)]
