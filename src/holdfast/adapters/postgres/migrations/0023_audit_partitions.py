"""The audit in partitions (0023_audit_partitions.sql). Reversing it copies all entries into one
table, and deletes those about nothing that such a table can name."""

from pathlib import Path

from django.db import migrations

FORWARDS = Path(__file__).with_name("0023_audit_partitions.sql").read_text(encoding="utf-8")

BACKWARDS = """
SET LOCAL holdfast.owner = on;
LOCK TABLE audit IN ACCESS EXCLUSIVE MODE;
ALTER TABLE audit RENAME TO audit_parted;
ALTER TABLE audit_parted RENAME CONSTRAINT audit_pkey TO audit_parted_pkey;
ALTER INDEX audit_by_hold RENAME TO audit_parted_by_hold;
ALTER INDEX audit_by_seat RENAME TO audit_parted_by_seat;
ALTER INDEX audit_by_catalog RENAME TO audit_parted_by_catalog;
ALTER INDEX audit_by_key RENAME TO audit_parted_by_key;
CREATE TABLE audit (LIKE audit_parted);
INSERT INTO audit SELECT * FROM audit_parted
    WHERE num_nonnulls(hold_id, seat_id, catalog_id, key_id) > 0;
DROP TABLE audit_parted;
ALTER TABLE audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (organization_id, seq),
    ADD CONSTRAINT audit_is_about_something
        CHECK (num_nonnulls(hold_id, seat_id, catalog_id, key_id) > 0),
    ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY;
SELECT setval('audit_seq_seq', (SELECT max(seq) FROM audit));
CREATE INDEX audit_by_hold ON audit (organization_id, hold_id);
CREATE INDEX audit_by_seat ON audit (organization_id, seat_id) WHERE seat_id IS NOT NULL;
CREATE INDEX audit_by_catalog ON audit (organization_id, catalog_id) WHERE catalog_id IS NOT NULL;
CREATE INDEX audit_by_key ON audit (organization_id, key_id) WHERE key_id IS NOT NULL;
CREATE INDEX audit_by_time ON audit USING brin (at);
SELECT holdfast_guard_audit('audit');
CREATE POLICY own_organizations ON audit TO holdfast_app
    USING ((organization_id = ANY ((SELECT holdfast_organizations())::uuid[])) IS TRUE);
CREATE POLICY operators_read ON audit FOR SELECT TO holdfast_operator
    USING (current_user = 'holdfast_operator');
GRANT SELECT, INSERT ON audit TO holdfast_app;
GRANT SELECT ON audit TO holdfast_operator;
DROP FUNCTION holdfast_ended_api_keys(bytea[]);
DROP FUNCTION holdfast_drop_audit_partition(integer);
DROP FUNCTION holdfast_make_audit_partitions(integer);
DROP FUNCTION holdfast_audit_partitions();
DROP FUNCTION holdfast_add_audit_partition(text, text);
DROP FUNCTION holdfast_guard_audit(regclass);
DROP TABLE audit_horizon;
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0022_audit_columns")]
    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
