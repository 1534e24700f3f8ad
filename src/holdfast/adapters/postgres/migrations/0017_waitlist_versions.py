"""The version of a session's waitlist, by which a server knows whether the queues in its memory are
current (ADR 0039). Whoever changes queues without giving the waitlist a new version, like a server
before its upgrade, leaves it without one."""

from django.db import migrations

ADD = """
SET LOCAL lock_timeout = '2s';
ALTER TABLE waitlist ADD COLUMN version uuid;
GRANT UPDATE (version) ON waitlist TO holdfast_app;

CREATE FUNCTION holdfast_forget_waitlist_version() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE waitlist SET version = NULL
    WHERE organization_id = coalesce(NEW.organization_id, OLD.organization_id)
        AND session_id = coalesce(NEW.session_id, OLD.session_id) AND version IS NOT NULL;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION holdfast_forget_waitlist_version() FROM PUBLIC;
CREATE TRIGGER waitlist_has_another_version AFTER INSERT OR UPDATE OR DELETE ON waiting_line
    FOR EACH ROW
    WHEN (current_setting('holdfast.versions_waitlists', true) IS DISTINCT FROM 'true')
    EXECUTE FUNCTION holdfast_forget_waitlist_version();
"""
DROP = """
DROP TRIGGER waitlist_has_another_version ON waiting_line;
DROP FUNCTION holdfast_forget_waitlist_version();
ALTER TABLE waitlist DROP COLUMN version;
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0016_audit_by_key")]
    operations = [migrations.RunSQL(ADD, DROP)]
