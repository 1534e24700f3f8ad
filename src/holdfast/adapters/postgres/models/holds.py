"""Holds, facts and the audit log."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from holdfast.adapters.postgres.models.base import (
    HolderRow,
    OrganizationRow,
    Row,
    Xid8Field,
    same_organization,
)
from holdfast.adapters.postgres.models.catalog import Session, TicketType


class Hold(HolderRow):
    id = models.UUIDField(primary_key=True)
    session_id = models.UUIDField()
    session = same_organization(Session, "session_id")
    reference = models.TextField()
    customer_email = models.BinaryField(null=True)
    email_key = models.UUIDField(null=True, editable=False)
    user_id = models.TextField(null=True)
    quantity = models.IntegerField()
    total_minor = models.BigIntegerField()
    currency = models.TextField()
    status = models.TextField()
    version = models.IntegerField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    held_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True)
    cancelled_at = models.DateTimeField(null=True)
    expired_at = models.DateTimeField(null=True)
    source = models.TextField()
    cart_token = models.TextField(null=True)
    notes = models.TextField(null=True)
    metadata = models.JSONField()
    due_at = models.DateTimeField("next due at")
    warn_at = models.DateTimeField("warning due at", null=True)
    checkout_id = models.UUIDField(null=True)
    order_id = models.UUIDField(null=True)
    revives = models.UUIDField(null=True)
    changed_xid = Xid8Field("transaction of the last facts")
    is_cart = models.BooleanField("held by a cart")
    extensions = models.SmallIntegerField("extensions by its holder")
    given_up_at = models.DateTimeField("given up without a sale at", null=True)

    class Meta(HolderRow.Meta):
        db_table = "hold"

    def __str__(self) -> str:
        return self.reference


class HoldLine(OrganizationRow):
    """A line of a hold, with the versions that added and removed it; shown with the hold."""

    pk = models.CompositePrimaryKey("organization_id", "hold_id", "position")
    hold_id = models.UUIDField()
    position = models.IntegerField()
    ticket_type_id = models.UUIDField()
    ticket_type = same_organization(TicketType, "ticket_type_id")
    quantity = models.IntegerField()
    unit_price_minor = models.BigIntegerField()
    pool_ids = ArrayField(models.UUIDField())
    seat_id = models.UUIDField(null=True)
    added_version = models.IntegerField()
    removed_version = models.IntegerField(null=True)
    cart_item_id = models.TextField(null=True)
    group_id = models.UUIDField(null=True)
    wish_block_id = models.UUIDField(null=True)
    wish_accessible = models.SmallIntegerField(null=True)
    wish_is_together = models.BooleanField(null=True)
    wish_price_minor = models.BigIntegerField(null=True)

    class Meta(OrganizationRow.Meta):
        db_table = "hold_line"


class Fact(OrganizationRow):
    """A row of the outbox."""

    seq = models.BigIntegerField("number", primary_key=True)
    xid = Xid8Field("transaction")
    event_id = models.UUIDField()
    hold_id = models.UUIDField(null=True)
    seat_id = models.UUIDField(null=True)
    catalog_id = models.UUIDField(null=True)
    ticket_id = models.UUIDField(null=True)
    version = models.IntegerField()
    type = models.TextField()
    occurred_at = models.DateTimeField()
    payload = models.JSONField()
    partition = models.SmallIntegerField()

    class Meta(OrganizationRow.Meta):
        db_table = "outbox"

    def __str__(self) -> str:
        return f"{self.type} #{self.seq}"


class RelayCursor(Row):
    """The relay's progress in a partition. It has no page; the page of facts shows it."""

    partition = models.SmallIntegerField(primary_key=True)
    xid = Xid8Field("transaction")
    seq = models.BigIntegerField("number")
    moved_at = models.DateTimeField()

    class Meta(Row.Meta):
        db_table = "relay_cursor"


class AuditEntry(OrganizationRow):
    seq = models.BigIntegerField("number", primary_key=True)
    at = models.DateTimeField("time")
    action = models.TextField()
    hold_id = models.UUIDField(null=True)
    seat_id = models.UUIDField(null=True)
    catalog_id = models.UUIDField(null=True)
    key_id = models.UUIDField(null=True)
    actor = models.TextField()
    request_id = models.TextField()
    ip = models.GenericIPAddressField("IP address", null=True)
    user_agent = models.TextField(null=True)
    old = models.JSONField(null=True)
    new = models.JSONField()
    session_id = models.UUIDField(null=True)
    ticket_type_ids = ArrayField(models.UUIDField(), null=True)
    cart = models.TextField(null=True)
    holder = models.UUIDField(null=True)
    holder_email = models.UUIDField(null=True)
    acting_user = models.TextField(null=True)

    class Meta(OrganizationRow.Meta):
        db_table = "audit"
        verbose_name = "audit entry"
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.action} #{self.seq}"
