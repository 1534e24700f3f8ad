"""Identifiers. Each kind has its own type, so they cannot be mixed up."""

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
MemberId = NewType("MemberId", UUID)
MemberSessionId = NewType("MemberSessionId", UUID)

OrderKey = tuple[OrganizationId, OrderId]
# Clients may choose hold ids, so two organizations may choose the same one.
HoldKey = tuple[OrganizationId, HoldId]
SessionKey = tuple[OrganizationId, SessionId]
# By the provider's payment reference.
PaymentKey = tuple[OrganizationId, str]
# By the platform's name for the cart.
CartKey = tuple[OrganizationId, str]
