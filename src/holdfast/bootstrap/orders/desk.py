"""Cancels orders and sessions for commands, through an engine of their own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from holdfast.adapters.postgres.access.organizations import PostgresOrganizations, Side
from holdfast.adapters.postgres.catalog.store import PostgresCatalog
from holdfast.adapters.postgres.orders.reader import PostgresOrders
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.holds.desk import AmbiguousHold, HoldDesk, UnknownHold
from holdfast.bootstrap.settings import Settings
from holdfast.domain.catalog.model import Session, SessionStatus
from holdfast.domain.ids import OrderId, OrganizationId, SessionId
from holdfast.domain.orders.order import Order
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.catalog import CatalogOutcome
from holdfast.services.catalog.changes import CatalogEditor
from holdfast.services.orders.clearing import Cleared, Clearing


class UnknownRow(Exception):
    """There is no such order or session."""


class OrderDesk(HoldDesk):
    def __init__(self, settings: Settings, room: EngineRoom) -> None:
        super().__init__(settings, room)
        self._organizations = PostgresOrganizations(settings.required_owner_url)
        self._orders = PostgresOrders(room.database, room.addresses)
        self._catalog = PostgresCatalog(room.database)

    def order(self, name: str, organization_id: OrganizationId | None) -> Order:
        """The order with this id, or of the hold with this reference or id."""
        try:
            hold = self.find(name, organization_id).hold
            order_id, organization_id = hold.order_id, hold.organization_id
        except UnknownHold:
            order_id, organization_id = self._order_named(name, organization_id)
        order = None if order_id is None else self._orders.order(organization_id, order_id)
        if order is None:
            raise UnknownRow
        return order

    def _order_named(
        self, name: str, organization_id: OrganizationId | None
    ) -> tuple[OrderId, OrganizationId]:
        try:
            order_id = UUID(name.strip())
        except ValueError:
            raise UnknownRow from None
        if organization_id is None:
            organization_id = _only(self._organizations.with_order(order_id))
        return OrderId(order_id), organization_id

    def session(
        self, session_id: SessionId, organization_id: OrganizationId | None
    ) -> tuple[OrganizationId, Session]:
        if organization_id is None:
            organization_id = _only(self._organizations.with_session(session_id))
        session = self._catalog.session(organization_id, session_id)
        if session is None:
            raise UnknownRow
        return organization_id, session

    def cancel_session(
        self,
        organization_id: OrganizationId,
        session_id: SessionId,
        reason: str,
        report: Callable[[Cleared], None],
    ) -> Cleared | Refusal:
        """End its sale, then release its holds and cancel its orders. Safe to repeat."""
        origin, submit = self.origin(reason), self._room.submit
        editor = CatalogEditor(self._catalog, submit, organization_id, origin, None, _unrendered)
        answer = editor.change_session(session_id, None, None, None, SessionStatus.CANCELLED)
        if isinstance(answer.outcome, Refusal):
            return answer.outcome
        clearing = Clearing(
            submit,
            self._room.holds,
            self._orders,
            self._catalog,
            organization_id,
            origin,
            session_id=session_id,
        )
        return clearing.run(report)


@contextmanager
def order_desk(settings: Settings) -> Iterator[OrderDesk]:
    with EngineRoom(settings).running() as room:
        yield OrderDesk(settings, room)


def _only(sides: Sequence[Side]) -> OrganizationId:
    if not sides:
        raise UnknownRow
    if len(sides) > 1:
        raise AmbiguousHold(sides)
    return sides[0].organization_id


def _unrendered(_: CatalogOutcome) -> bytes:
    raise AssertionError("only changes with an idempotency key are rendered")
