"""Identifiers. Each kind has its own type, so that one is never passed for another."""

from typing import NewType
from uuid import UUID

OrganizationId = NewType("OrganizationId", UUID)
EventId = NewType("EventId", UUID)
SessionId = NewType("SessionId", UUID)
TicketTypeId = NewType("TicketTypeId", UUID)
PoolId = NewType("PoolId", UUID)
BlockId = NewType("BlockId", UUID)
SeatId = NewType("SeatId", UUID)
HoldId = NewType("HoldId", UUID)
CheckoutId = NewType("CheckoutId", UUID)
OrderId = NewType("OrderId", UUID)
TicketId = NewType("TicketId", UUID)
ApiKeyId = NewType("ApiKeyId", UUID)

# A client may choose a hold's id, so two organizations may choose the same one.
HoldKey = tuple[OrganizationId, HoldId]
EventKey = tuple[OrganizationId, EventId]
SessionKey = tuple[OrganizationId, SessionId]
# A payment goes by the reference that its provider gave it.
PaymentKey = tuple[OrganizationId, str]
# A cart goes by the name that the platform gave it.
CartKey = tuple[OrganizationId, str]
