"""Upgrading rows with addresses in clear text, and back."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.core.management import call_command
from django.db import DatabaseError, connections
from django.test import override_settings

from holdfast.bootstrap.database import OWNER, setup_django
from holdfast.bootstrap.privacy.addresses import addresses_of
from holdfast.bootstrap.settings import Settings
from holdfast.domain.ids import OrganizationId
from holdfast.domain.orders.order import Attendee
from holdfast.domain.values import EmailAddress
from holdfast.ports.privacy.addresses import Addresses, SecretMissing
from tests.postgres.large import BUYER

BEFORE = "0023_audit_partitions"
THIS = "0024_sealed_addresses"
ROWS = 2_500  # more than two slices
SECRET = "a secret of the installation, 32 characters"

HOLDS = """
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, user_id, quantity,
    total_minor, currency, status, version, created_at, updated_at, held_at, expires_at, due_at)
SELECT %(own)s, gen_random_uuid(), %(session)s, 'R' || n,
    CASE WHEN n %% 5 <> 0 THEN 'Buyer' || n || '@example.com' END,
    CASE WHEN n %% 5 < 2 THEN 'user' || n END, 1, 4500, 'EUR', 'expired', 1, now(), now(), now(),
    now() + interval '1 minute', now() + interval '1 minute' FROM generate_series(1, %(count)s) AS n
"""
ORDERS = """
INSERT INTO purchase_order (organization_id, id, hold_ids, customer_email, total_minor, currency,
    created_at)
SELECT organization_id, id, ARRAY[id], customer_email, 4500, 'EUR', now() FROM hold
WHERE customer_email IS NOT NULL
"""
TICKETS = """
INSERT INTO ticket (organization_id, id, order_id, position, hold_id, session_id, ticket_type_id,
    unit_price_minor, code, attendee_name, attendee_email)
SELECT organization_id, id, id, 0, id, %(session)s, gen_random_uuid(), 4500,
    replace(id::text, '-', ''), 'Ada "A." L', customer_email FROM purchase_order
"""


@pytest.fixture
def old_database(fresh_database_url: str, database_url: str) -> Iterator[str]:
    setup_django(Settings(database_url=fresh_database_url))
    call_command("migrate", "holdfast", BEFORE, database=OWNER, verbosity=0)
    yield fresh_database_url
    connections.close_all()
    setup_django(Settings(database_url=database_url))


def migrate(addresses: Addresses, to: str | None = None) -> None:
    names = ["holdfast"] if to is None else ["holdfast", to]
    with override_settings(HOLDFAST_ADDRESSES=addresses):
        call_command("migrate", *names, database=OWNER, verbosity=0)


def filled(connection: psycopg.Connection[Any]) -> OrganizationId:
    own, event, session = uuid4(), uuid4(), uuid4()
    connection.execute(
        "INSERT INTO organization (id, name, mode, account_id) VALUES (%s, 'x', 'live', %s)",
        [own, uuid4()],
    )
    connection.execute(
        "INSERT INTO event (organization_id, id, name, currency) VALUES (%s, %s, 'x', 'EUR')",
        [own, event],
    )
    connection.execute(
        "INSERT INTO session (organization_id, id, event_id, name) VALUES (%s, %s, %s, 'x')",
        [own, session, event],
    )
    for insert in (HOLDS, ORDERS, TICKETS):
        connection.execute(insert.encode(), {"own": own, "session": session, "count": ROWS})
    return OrganizationId(own)


def contents(connection: psycopg.Connection[Any]) -> list[list[tuple[Any, ...]]]:
    return [
        connection.execute(query).fetchall()
        for query in (
            "SELECT reference, customer_email, email_key, user_id FROM hold ORDER BY id",
            "SELECT id, customer_email, email_key FROM purchase_order ORDER BY id",
            "SELECT id, attendee_name, attendee_email FROM ticket ORDER BY id",
        )
    ]


@pytest.mark.parametrize("secret", [None, SECRET], ids=["without a secret", "with a secret"])
def test_addresses_are_sealed_and_opened_again(old_database: str, secret: str | None) -> None:
    addresses = addresses_of(Settings(holdfast_secret_key=secret))
    with psycopg.connect(old_database, autocommit=True) as connection:
        own = filled(connection)
        before = contents(connection)
        migrate(addresses)
        for reference, sealed, key, _ in connection.execute(
            "SELECT reference, customer_email, email_key, user_id FROM hold"
        ):
            email = addresses.opened(own, sealed)
            number = int(reference[1:])
            assert (email is None) == (key is None) == (number % 5 == 0)
            if email is not None:
                assert email == EmailAddress(f"Buyer{number}@example.com")
                assert key.hex in addresses.hashes.address_keys(own, email)
                assert (b"example.com" in sealed) == (secret is None)
        tickets = connection.execute("SELECT attendee, attendee_key FROM ticket").fetchall()
        assert len(tickets) == ROWS * 4 // 5
        opened = addresses.opened_attendee(own, tickets[0][0])
        assert isinstance(opened, Attendee)
        assert opened.name == 'Ada "A." L'
        migrate(addresses, BEFORE)
        assert contents(connection) == before
        migrate(addresses)


def test_a_downgrade_without_the_secret_is_refused_and_loses_nothing(old_database: str) -> None:
    sealing = addresses_of(Settings(holdfast_secret_key=SECRET))
    with psycopg.connect(old_database, autocommit=True) as connection:
        filled(connection)
        migrate(sealing)
        with pytest.raises(SecretMissing):
            migrate(addresses_of(Settings()), BEFORE)
        connections.close_all()
        migrate(sealing, BEFORE)
        ((count,),) = connection.execute("SELECT count(customer_email) FROM hold").fetchall()
        assert count == ROWS * 4 // 5


def test_a_hold_of_an_old_server_stops_the_upgrade(
    old_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: what is placed while the rows are moved must not be lost."""
    addresses = Addresses()
    with psycopg.connect(old_database, autocommit=True) as connection:
        own = filled(connection)

        def placed_meanwhile(*_: object) -> Any:
            connection.execute(
                "UPDATE hold SET customer_email = %s WHERE reference = 'R1'", [BUYER.value]
            )
            return Addresses.stored(addresses, own, BUYER)

        monkeypatch.setattr(addresses, "stored", placed_meanwhile)
        with pytest.raises(Exception, match="stop the servers and migrate again"):
            migrate(addresses)
        connections.close_all()
        monkeypatch.undo()
        migrate(addresses)
        ((missing,),) = connection.execute(
            "SELECT count(*) FROM hold WHERE customer_email IS NULL AND user_id IS NULL"
        ).fetchall()
        assert missing == 0


def test_an_interrupted_migration_is_repeated(
    old_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = addresses_of(Settings(holdfast_secret_key=SECRET))
    with psycopg.connect(old_database, autocommit=True) as connection:
        filled(connection)
        before = contents(connection)
        migrate(addresses, THIS)
        # As if it had been killed after the last step, before Django took note.
        connection.execute("DELETE FROM django_migrations WHERE name = %s", [THIS])
        migrate(addresses, THIS)
        left = iter(range(ROWS))

        def interrupted(*_: object) -> Any:
            if next(left, None) is None:
                raise KeyboardInterrupt
            return Addresses.opened(addresses, *_)  # type: ignore[arg-type]

        monkeypatch.setattr(addresses, "opened", interrupted)
        with pytest.raises(KeyboardInterrupt):
            migrate(addresses, BEFORE)
        connections.close_all()
        monkeypatch.undo()
        migrate(addresses, BEFORE)
        assert contents(connection) == before
        # Between the last step back and the note of it.
        connection.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('holdfast', %s, now())",
            [THIS],
        )
        migrate(addresses, BEFORE)
        assert contents(connection) == before


def test_servers_at_work_stop_both_directions(old_database: str) -> None:
    addresses = addresses_of(Settings(holdfast_secret_key=SECRET))
    with psycopg.connect(old_database, autocommit=True) as connection:
        filled(connection)
        before = contents(connection)
        with (
            psycopg.connect(old_database, application_name="holdfast engine"),
            pytest.raises(DatabaseError, match=r"still connected .*\(holdfast engine\)"),
        ):
            migrate(addresses)
        assert contents(connection) == before
        migrate(addresses, THIS)
        with (
            psycopg.connect(old_database, application_name="holdfast relay"),
            pytest.raises(DatabaseError, match=r"still connected .*\(holdfast relay\)"),
        ):
            migrate(addresses, BEFORE)
        ((count,),) = connection.execute("SELECT count(email_key) FROM hold").fetchall()
        assert count == ROWS * 4 // 5
