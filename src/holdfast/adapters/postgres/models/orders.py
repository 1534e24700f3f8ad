"""Checkouts, orders and tickets."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from holdfast.adapters.postgres.models.base import HolderRow, OrganizationRow, same_organization
from holdfast.adapters.postgres.models.catalog import Session, TicketType


class Checkout(OrganizationRow):
    """Its holds show whether it is complete."""

    id = models.UUIDField(primary_key=True)
    hold_ids = ArrayField(models.UUIDField())
    created_at = models.DateTimeField()

    class Meta(OrganizationRow.Meta):
        db_table = "checkout"

    def __str__(self) -> str:
        return str(self.id)


class Order(HolderRow):
    id = models.UUIDField(primary_key=True)
    checkout_id = models.UUIDField(null=True)
    hold_ids = ArrayField(models.UUIDField())
    customer_email = models.BinaryField(null=True)
    email_key = models.UUIDField(null=True, editable=False)
    user_id = models.TextField(null=True)
    total_minor = models.BigIntegerField()
    currency = models.TextField()
    payment_reference = models.TextField(null=True)
    metadata = models.JSONField()
    created_at = models.DateTimeField()
    status = models.TextField()
    version = models.IntegerField()

    class Meta(HolderRow.Meta):
        db_table = "purchase_order"

    def __str__(self) -> str:
        return str(self.id)


class Ticket(OrganizationRow):
    """Without the code and the attendee, which the admin's role may not read. Shown with its
    order."""

    id = models.UUIDField(primary_key=True)
    order_id = models.UUIDField()
    position = models.SmallIntegerField()
    hold_id = models.UUIDField()
    session_id = models.UUIDField()
    session = same_organization(Session, "session_id")
    ticket_type_id = models.UUIDField()
    ticket_type = same_organization(TicketType, "ticket_type_id")
    seat_id = models.UUIDField(null=True)
    unit_price_minor = models.BigIntegerField()
    voided_at = models.DateTimeField(null=True)
    voided_version = models.IntegerField(null=True)
    void_reason = models.TextField(null=True)
    refund_reference = models.TextField(null=True)

    class Meta(OrganizationRow.Meta):
        db_table = "ticket"
