"""Catalog changes by the organizer, implemented for each store."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from typing import Protocol

from holdfast.domain.catalog.model import EventStatus, Offer, SaleTerms, SessionCatalog
from holdfast.domain.policy import POLICY_FIELDS, HoldPolicy
from holdfast.domain.values import Money
from tests.contract.tables import Connection
from tests.contract.venues import Venue
from tests.support.memory import MemoryStore

A_SECOND = timedelta(seconds=1)


class Manager(Protocol):
    def set_status(self, venue: Venue, status: EventStatus) -> None: ...

    def end_sale(self, venue: Venue) -> None:
        """Set the end of the sale to a second ago."""
        ...

    def pause_sale(self, venue: Venue) -> None:
        """Set the start of the sale to an hour from now."""
        ...

    def resume_sale(self, venue: Venue) -> None:
        """Remove the start of the sale."""
        ...

    def start_session(self, venue: Venue, in_seconds: int = -1) -> None:
        """Set the start of the session, by default to a second ago."""
        ...

    def set_policy(self, venue: Venue, policy: HoldPolicy) -> None: ...

    def set_type_policy(self, venue: Venue, ticket_type: str, policy: HoldPolicy) -> None: ...

    def sell_nowhere(self, venue: Venue, ticket_type: str) -> None:
        """Remove the type from all blocks. A block that lists no types sells all."""
        ...

    def set_price(self, venue: Venue, ticket_type: str, minor: int) -> None: ...

    def set_total(self, venue: Venue, pool: str, total: int) -> None: ...


class MemoryManager:
    store: MemoryStore

    def set_status(self, venue: Venue, status: EventStatus) -> None:
        self._change_sale(venue, lambda sale: replace(sale, status=status))

    def end_sale(self, venue: Venue) -> None:
        end = self.store.clock() - A_SECOND
        self._change_sale(venue, lambda sale: replace(sale, ends_at=end))

    def pause_sale(self, venue: Venue) -> None:
        start = self.store.clock() + timedelta(hours=1)
        self._change_sale(venue, lambda sale: replace(sale, starts_at=start))

    def resume_sale(self, venue: Venue) -> None:
        self._change_sale(venue, lambda sale: replace(sale, starts_at=None))

    def start_session(self, venue: Venue, in_seconds: int = -1) -> None:
        session = self.store.sessions[venue.organization_id, venue.session_id]
        start = self.store.clock() + timedelta(seconds=in_seconds)
        self._put(replace(session, starts_at=start))

    def set_policy(self, venue: Venue, policy: HoldPolicy) -> None:
        self._change_offers(
            venue, *venue.ticket_types, to=lambda offer: replace(offer, policy=policy)
        )

    def set_type_policy(self, venue: Venue, ticket_type: str, policy: HoldPolicy) -> None:
        self._change_offers(venue, ticket_type, to=lambda offer: replace(offer, policy=policy))

    def sell_nowhere(self, venue: Venue, ticket_type: str) -> None:
        session = self.store.sessions[venue.organization_id, venue.session_id]
        gone = venue.ticket_types[ticket_type]
        blocks = {
            block_id: replace(
                block, prices={id_: price for id_, price in block.prices.items() if id_ != gone}
            )
            for block_id, block in session.blocks.items()
        }
        self._put(replace(session, blocks=blocks))

    def set_price(self, venue: Venue, ticket_type: str, minor: int) -> None:
        self._change_offers(
            venue,
            ticket_type,
            to=lambda offer: replace(offer, price=Money(minor, offer.price.currency)),
        )

    def set_total(self, venue: Venue, pool: str, total: int) -> None:
        pool_id = venue.pools[pool]
        self.store.pools[pool_id] = replace(self.store.pools[pool_id], total=total)

    def _change_sale(self, venue: Venue, to: Callable[[SaleTerms], SaleTerms]) -> None:
        session = self.store.sessions[venue.organization_id, venue.session_id]
        self._put(replace(session, sale=to(session.sale)))

    def _change_offers(self, venue: Venue, *names: str, to: Callable[[Offer], Offer]) -> None:
        session = self.store.sessions[venue.organization_id, venue.session_id]
        ids = {venue.ticket_types[name] for name in names}
        offers = {id_: to(each) if id_ in ids else each for id_, each in session.offers.items()}
        self._put(replace(session, offers=offers))

    def _put(self, session: SessionCatalog) -> None:
        self.store.put_on_sale(replace(session, version=session.version + 1), [])


class PostgresManager:
    def connected(self) -> AbstractContextManager[Connection]:
        raise NotImplementedError

    def set_status(self, venue: Venue, status: EventStatus) -> None:
        self._change_event(venue, "status = %s", status.value)

    def end_sale(self, venue: Venue) -> None:
        self._change_event(venue, "sale_ends_at = clock_timestamp() - interval '1 second'")

    def pause_sale(self, venue: Venue) -> None:
        self._change_event(venue, "sale_starts_at = clock_timestamp() + interval '1 hour'")

    def resume_sale(self, venue: Venue) -> None:
        self._change_event(venue, "sale_starts_at = NULL")

    def start_session(self, venue: Venue, in_seconds: int = -1) -> None:
        with self.connected() as connection, connection.transaction():
            connection.execute(
                "UPDATE session SET starts_at = clock_timestamp() + %s"
                " WHERE organization_id = %s AND id = %s",
                [timedelta(seconds=in_seconds), venue.organization_id, venue.session_id],
            )
            self._next_version(connection, venue)

    def set_policy(self, venue: Venue, policy: HoldPolicy) -> None:
        values = [getattr(policy, name) for name in POLICY_FIELDS]
        self._change_event(venue, ", ".join(f"{name} = %s" for name in POLICY_FIELDS), *values)

    def set_type_policy(self, venue: Venue, ticket_type: str, policy: HoldPolicy) -> None:
        values = [getattr(policy, name) for name in POLICY_FIELDS]
        assignments = ", ".join(f"{name} = %s" for name in POLICY_FIELDS)
        query = f"UPDATE ticket_type SET {assignments} WHERE organization_id = %s AND id = %s"
        type_id = venue.ticket_types[ticket_type]
        with self.connected() as connection, connection.transaction():
            connection.execute(query.encode(), [*values, venue.organization_id, type_id])
            self._next_version(connection, venue)

    def sell_nowhere(self, venue: Venue, ticket_type: str) -> None:
        with self.connected() as connection, connection.transaction():
            connection.execute(
                "DELETE FROM block_price WHERE organization_id = %s AND ticket_type_id = %s",
                [venue.organization_id, venue.ticket_types[ticket_type]],
            )
            self._next_version(connection, venue)

    def set_price(self, venue: Venue, ticket_type: str, minor: int) -> None:
        with self.connected() as connection, connection.transaction():
            connection.execute(
                "UPDATE ticket_type SET price_minor = %s WHERE organization_id = %s AND id = %s",
                [minor, venue.organization_id, venue.ticket_types[ticket_type]],
            )
            self._next_version(connection, venue)

    def set_total(self, venue: Venue, pool: str, total: int) -> None:
        with self.connected() as connection:
            connection.execute(
                "UPDATE pool SET total = %s WHERE organization_id = %s AND id = %s",
                [total, venue.organization_id, venue.pools[pool]],
            )

    def _change_event(self, venue: Venue, assignments: str, *values: object) -> None:
        query = (
            f"UPDATE event SET {assignments} WHERE organization_id = %s"
            " AND id = (SELECT event_id FROM session WHERE id = %s)"
        )
        with self.connected() as connection, connection.transaction():
            connection.execute(query.encode(), [*values, venue.organization_id, venue.session_id])
            self._next_version(connection, venue)

    @staticmethod
    def _next_version(connection: Connection, venue: Venue) -> None:
        connection.execute(
            "UPDATE session SET version = version + 1 WHERE organization_id = %s AND id = %s",
            [venue.organization_id, venue.session_id],
        )
