"""Facts and audit entries of the catalog. Reversing it deletes them: without the column, their
subject is unknown."""

from django.db import migrations

ADD = """
ALTER TABLE outbox
    ADD COLUMN catalog_id uuid,
    DROP CONSTRAINT outbox_is_about_something,
    ADD CONSTRAINT outbox_is_about_something
        CHECK (num_nonnulls(hold_id, seat_id, catalog_id) > 0),
    DROP CONSTRAINT outbox_fact_happens_once,
    ADD CONSTRAINT outbox_fact_happens_once
        UNIQUE NULLS NOT DISTINCT (organization_id, hold_id, version, type, seat_id, catalog_id);
ALTER TABLE audit
    ADD COLUMN catalog_id uuid,
    DROP CONSTRAINT audit_is_about_something,
    ADD CONSTRAINT audit_is_about_something
        CHECK (num_nonnulls(hold_id, seat_id, catalog_id) > 0);
CREATE INDEX audit_by_catalog ON audit (organization_id, catalog_id)
    WHERE catalog_id IS NOT NULL;
"""

DROP = """
SET LOCAL holdfast.owner = on;
DELETE FROM outbox WHERE catalog_id IS NOT NULL;
ALTER TABLE audit DISABLE TRIGGER audit_is_append_only;
DELETE FROM audit WHERE catalog_id IS NOT NULL;
ALTER TABLE audit ENABLE TRIGGER audit_is_append_only;
ALTER TABLE outbox
    DROP COLUMN catalog_id,
    ADD CONSTRAINT outbox_is_about_something CHECK (hold_id IS NOT NULL OR seat_id IS NOT NULL),
    ADD CONSTRAINT outbox_fact_happens_once
        UNIQUE NULLS NOT DISTINCT (organization_id, hold_id, version, type, seat_id);
ALTER TABLE audit
    DROP COLUMN catalog_id,
    ADD CONSTRAINT audit_is_about_something CHECK (hold_id IS NOT NULL OR seat_id IS NOT NULL);
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0008_login_attempts")]
    operations = [migrations.RunSQL(ADD, DROP)]
