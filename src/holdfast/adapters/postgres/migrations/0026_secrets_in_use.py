"""The secrets that encrypt stored addresses, by the ids that sealed values begin with. A process
that lacks one would not find the holds of an address, and would not apply limits to its holder."""

from django.db import migrations

ADD = """
SET LOCAL lock_timeout = '2s';
CREATE TABLE address_secret (
    id            bytea PRIMARY KEY CHECK (length(id) = 4),
    first_used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    is_lost       boolean NOT NULL DEFAULT false  -- set by an operator who gives it up
);
GRANT SELECT, INSERT (id), UPDATE (is_lost) ON address_secret TO holdfast_app;
SET LOCAL holdfast.owner = on;
INSERT INTO address_secret (id)
SELECT substring(customer_email FROM 2 FOR 4) FROM hold
    WHERE substring(customer_email FOR 1) = '\\x01' GROUP BY 1
UNION SELECT substring(customer_email FROM 2 FOR 4) FROM purchase_order
    WHERE substring(customer_email FOR 1) = '\\x01' GROUP BY 1
UNION SELECT substring(attendee FROM 2 FOR 4) FROM ticket
    WHERE substring(attendee FOR 1) = '\\x01' GROUP BY 1;
"""


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0025_bounds")]
    operations = [migrations.RunSQL(ADD, "DROP TABLE address_secret")]
