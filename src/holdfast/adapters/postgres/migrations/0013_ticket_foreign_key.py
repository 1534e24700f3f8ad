"""The foreign key from a ticket to its order, checked 10,000 times for an order of 10,000 tickets.
The server's role may not delete orders, and the integrity check compares tickets with orders
(ADR 0026)."""

from django.db import migrations

DROP = (
    "SET LOCAL lock_timeout = '2s';"
    "ALTER TABLE ticket DROP CONSTRAINT ticket_organization_id_order_id_fkey;"
)
ADD = (
    "ALTER TABLE ticket ADD CONSTRAINT ticket_organization_id_order_id_fkey"
    " FOREIGN KEY (organization_id, order_id) REFERENCES purchase_order;"
)


class Migration(migrations.Migration):
    dependencies = [("holdfast", "0012_hot_foreign_keys")]
    operations = [migrations.RunSQL(DROP, ADD)]
