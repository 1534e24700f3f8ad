"""Insert a venue as rows of PostgreSQL."""

from dataclasses import astuple

import psycopg

from holdfast.domain.policy import POLICY_FIELDS
from tests.contract.venues import Hall, Plan, Venue

Connection = psycopg.Connection[tuple[object, ...]]


def insert_venue(connection: Connection, venue: Venue, plan: Plan) -> None:
    with connection.transaction():
        _insert_session(connection, venue, plan)
        _insert_types(connection, venue, plan)
        _insert_hall(connection, venue, plan.hall)


def _insert_session(connection: Connection, venue: Venue, plan: Plan) -> None:
    organization_id, event_id = venue.organization_id, plan.event_id
    run = connection.execute
    run(
        "INSERT INTO organization (id, name) VALUES (%s, 'test') ON CONFLICT DO NOTHING",
        [organization_id],
    )
    values = [
        organization_id,
        event_id,
        plan.currency,
        plan.sale.status.value,
        plan.sale.starts_at,
        plan.sale.ends_at,
        *astuple(plan.policy),
    ]
    insert = (
        "INSERT INTO event (name, organization_id, id, currency, status, sale_starts_at,"
        f" sale_ends_at, {', '.join(POLICY_FIELDS)})"
        f" VALUES ('test'{', %s' * len(values)}) ON CONFLICT DO NOTHING"
    )
    run(insert.encode(), values)
    run(
        "INSERT INTO session (organization_id, id, event_id, name) VALUES (%s, %s, %s, 'test')",
        [organization_id, venue.session_id, event_id],
    )


def _insert_types(connection: Connection, venue: Venue, plan: Plan) -> None:
    run = connection.execute
    for name, total in plan.all_pools.items():
        run(
            "INSERT INTO pool (organization_id, id, session_id, name, total)"
            " VALUES (%s, %s, %s, %s, %s)",
            [venue.organization_id, venue.pools[name], venue.session_id, name, total],
        )
    for name, drawn in plan.all_types.items():
        type_id = venue.ticket_types[name]
        run(
            "INSERT INTO ticket_type"
            " (organization_id, id, session_id, name, price_minor, is_seated, created_at)"
            " VALUES (%s, %s, %s, %s, 4500, %s, clock_timestamp())",
            [venue.organization_id, type_id, venue.session_id, name, name in plan.hall.seated],
        )
        for pool in drawn:
            run(
                "INSERT INTO ticket_type_pool VALUES (%s, %s, %s)",
                [venue.organization_id, type_id, venue.pools[pool]],
            )


def _insert_hall(connection: Connection, venue: Venue, hall: Hall) -> None:
    run = connection.execute
    for rank, (name, block_id) in enumerate(venue.blocks.items()):
        run(
            "INSERT INTO block (organization_id, id, session_id, name, rank, capacity_pool_id)"
            " VALUES (%s, %s, %s, %s, %s, %s)",
            [
                venue.organization_id,
                block_id,
                venue.session_id,
                name,
                rank,
                venue.pools.get(f"{name} capacity"),
            ],
        )
        for order, sold in enumerate(hall.sold_in.get(name, ())):
            run(
                "INSERT INTO block_price VALUES (%s, %s, %s, %s, 4500)",
                [venue.organization_id, block_id, venue.ticket_types[sold], order],
            )
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO seat (organization_id, session_id, id, block_id, row_name, row_rank,"
            " number, position, x, y, is_accessible, is_companion, is_restricted_view)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (venue.organization_id, venue.session_id, *astuple(place))
                for place in venue.places.values()
            ],
        )
