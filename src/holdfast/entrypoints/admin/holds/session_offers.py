"""The ticket types of a session and what they cost in its blocks, by the rules of the engine."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.models import Block, BlockPrice, Seat, TicketType
from holdfast.domain.immutable import immutable
from holdfast.entrypoints.admin.catalog.policies import effective_policy, levels_of
from holdfast.entrypoints.admin.seats.hall_data import price_range


@immutable
class Offered:
    """Some tickets of a type, with the price of all of them. None if it depends on the seats."""

    ticket_type: TicketType
    quantity: int
    total_minor: int | None


class SessionOffers:
    def __init__(self, session: Any) -> None:
        self.currency: str = session.event.currency
        self._organization = {"organization_id": session.organization_id}
        own = {**self._organization, "session_id": session.id}
        types = TicketType.objects.filter(**own).order_by("created_at", "id")
        related = types.select_related("organization", "session__event")
        self.types: dict[UUID, TicketType] = {each.id: each for each in related}
        blocks = Block.objects.filter(**own).values_list("id", flat=True)
        self._prices: dict[UUID, dict[UUID, int]] = {id_: {} for id_ in blocks}
        prices = BlockPrice.objects.filter(**self._organization, block_id__in=list(self._prices))
        for each in prices.order_by("rank"):
            self._prices[each.block_id][each.ticket_type_id] = each.price_minor

    @property
    def seated(self) -> list[TicketType]:
        return [each for each in self.types.values() if each.is_seated]

    def price_of(self, ticket_type: TicketType) -> str:
        return price_range(self._prices_of(ticket_type), self.currency)

    def some(self, ticket_type: TicketType, quantity: int) -> Offered:
        prices = self._prices_of(ticket_type)
        return Offered(ticket_type, quantity, quantity * prices[0] if len(prices) == 1 else None)

    def seats(self, seat_ids: Iterable[UUID], chosen: UUID | None) -> list[Offered]:
        """One for each seat. Without a chosen type, it is sold as the first type of its block."""
        seats = Seat.objects.filter(**self._organization, id__in=list(seat_ids))
        found = []
        for block_id in seats.values_list("block_id", flat=True):
            prices = self._prices[block_id]
            types = [chosen] if chosen else prices or [each.id for each in self.seated]
            ticket_type = self.types.get(next(iter(types), None))  # type: ignore[arg-type]
            if ticket_type is not None:
                price = prices.get(ticket_type.id, ticket_type.price_minor)
                found.append(Offered(ticket_type, 1, price))
        return found

    def _prices_of(self, ticket_type: TicketType) -> list[int]:
        """A block without prices sells every seated type at the type's own price."""
        if not ticket_type.is_seated or not self._prices:
            return [ticket_type.price_minor]
        found = {
            prices.get(ticket_type.id, ticket_type.price_minor)
            for prices in self._prices.values()
            if not prices or ticket_type.id in prices
        }
        return sorted(found) or [ticket_type.price_minor]


def seconds_held(offered: Iterable[Offered]) -> int:
    """The shortest time to live wins."""
    return min(_policy(each.ticket_type, "ttl_seconds") for each in offered)


def has_waitlist(offered: Iterable[Offered]) -> bool:
    return all(_policy(each.ticket_type, "waitlist") for each in offered)


def _policy(ticket_type: TicketType, name: str) -> int:
    return effective_policy(levels_of(ticket_type))[name].value
