"""Reservations of the Inventory Service: holds that may have no lines, because they were released
before they arrived, or because all their tickets were cancelled. The check stays unvalidated: it
only allows more than the one before. The messages of the Hold Service name a session, but not the
organization that it has here."""

from django.db import migrations

ALLOW = """
SET LOCAL lock_timeout = '2s';
ALTER TABLE hold
    DROP CONSTRAINT hold_quantity_check,
    ADD CONSTRAINT hold_quantity_check CHECK (
        quantity > 0 OR (quantity = 0 AND expires_at = '9999-12-31 00:00:00+00')) NOT VALID;
CREATE INDEX session_by_id ON session (id);
CREATE FUNCTION holdfast_organizations_of_session(wanted uuid) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT s.organization_id FROM session s WHERE s.id = wanted
$$;
REVOKE ALL ON FUNCTION holdfast_organizations_of_session(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast_organizations_of_session(uuid) TO holdfast_app;
"""
FORBID = """
SET LOCAL lock_timeout = '2s';
DROP FUNCTION holdfast_organizations_of_session(uuid);
DROP INDEX session_by_id;
ALTER TABLE hold
    DROP CONSTRAINT hold_quantity_check,
    ADD CONSTRAINT hold_quantity_check CHECK (quantity > 0) NOT VALID;
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0032_remote_holds")]
    operations = [migrations.RunSQL(ALLOW, FORBID)]
