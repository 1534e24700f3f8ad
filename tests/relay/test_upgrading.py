"""Facts older than the log's partitions go to the partition of their hold's later facts."""

import psycopg
from django.core.management import call_command
from django.db import connections

from holdfast.bootstrap.database import OWNER, setup_django
from holdfast.bootstrap.settings import Settings
from holdfast.ports.facts.log import PARTITIONS
from tests.relay.restoring import migrated

OLD_FACTS = """
INSERT INTO outbox (organization_id, event_id, hold_id, version, type, occurred_at, payload)
SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, 'hold.created', now(), '{}'
FROM generate_series(1, 50)
"""
OLD_FACT_OF_A_SEAT = """
INSERT INTO outbox (organization_id, event_id, seat_id, version, type, occurred_at, payload)
VALUES (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, 'seat.blocked', now(), '{}')
"""


def test_old_facts_get_the_partitions_of_new_ones(fresh_database_url: str) -> None:
    setup_django(Settings(database_url=fresh_database_url))
    try:
        call_command("migrate", "holdfast", "0003", database=OWNER, verbosity=0)
    finally:
        connections.close_all()
    with psycopg.connect(fresh_database_url) as connection:
        connection.execute(OLD_FACTS)
        connection.execute(OLD_FACT_OF_A_SEAT)
    migrated(fresh_database_url)
    with psycopg.connect(fresh_database_url) as connection:
        divided = connection.execute(
            "SELECT coalesce(hold_id, seat_id), partition FROM outbox"
        ).fetchall()
    assert len(divided) == 51
    assert all(partition == subject.int % PARTITIONS for subject, partition in divided)
