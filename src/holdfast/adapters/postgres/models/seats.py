"""Blocks and seats."""

from django.db import models

from holdfast.adapters.postgres.models.base import (
    OrganizationRow,
    RealField,
    Xid8Field,
    same_organization,
    unique_in_organization,
)
from holdfast.adapters.postgres.models.catalog import Pool, Session, TicketType


class Block(OrganizationRow):
    """An area of a session with seats. Its capacity, if any, is a pool."""

    id = models.UUIDField(primary_key=True)
    session_id = models.UUIDField()
    session = same_organization(Session, "session_id")
    name = models.TextField()
    rank = models.IntegerField()
    capacity_pool_id = models.UUIDField(null=True)
    capacity_pool = same_organization(Pool, "capacity_pool_id", optional=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta(OrganizationRow.Meta):
        db_table = "block"
        constraints = unique_in_organization("block_pkey")

    def __str__(self) -> str:
        return self.name


class BlockPrice(OrganizationRow):
    """A ticket type sold in a block; shown with the block."""

    pk = models.CompositePrimaryKey("organization_id", "block_id", "ticket_type_id")
    block_id = models.UUIDField()
    ticket_type_id = models.UUIDField()
    ticket_type = same_organization(TicketType, "ticket_type_id")
    rank = models.SmallIntegerField()
    price_minor = models.BigIntegerField()

    class Meta(OrganizationRow.Meta):
        db_table = "block_price"


class Seat(OrganizationRow):
    """A held seat is free once `held_until` has passed, whatever its status."""

    id = models.UUIDField(primary_key=True)
    session_id = models.UUIDField()
    session = same_organization(Session, "session_id")
    block_id = models.UUIDField()
    block = same_organization(Block, "block_id")
    row_name = models.TextField("row")
    row_rank = models.IntegerField("row rank")
    number = models.TextField()
    position = models.IntegerField("place in the row")
    x = RealField()
    y = RealField()
    is_accessible = models.BooleanField("accessible")
    is_companion = models.BooleanField("companion")
    is_restricted_view = models.BooleanField("restricted view")
    status = models.TextField()
    hold_id = models.UUIDField(null=True)
    holder_key = models.UUIDField(null=True, editable=False)
    held_until = models.DateTimeField(null=True)
    locked_at = models.DateTimeField(null=True)
    blocked_reason = models.TextField(null=True)
    version = models.IntegerField()
    changed_xid = Xid8Field("transaction")
    told_xid = Xid8Field("transaction of the last facts")

    class Meta(OrganizationRow.Meta):
        db_table = "seat"
        constraints = unique_in_organization("seat_pkey")

    def __str__(self) -> str:
        return f"row {self.row_name}, seat {self.number}"
