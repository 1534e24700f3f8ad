"""The tables as Django sees them: rows for the admin pages, not entities.

The schema is written in SQL (migrations/0001_schema.sql) and Django never alters it, so every
model is unmanaged. The answers of idempotency keys have no model: operators may not read them.

The tables are keyed by (organization_id, id), which the admin cannot address, so the models that
it shows name `id` (or `seq`) alone as their key. For reading that is safe enough: ids are UUIDv7
and the numbers of `seq` come from one sequence per table, so neither repeats between
organizations. For writing it would not be, and the role of the admin has no right to write.
"""

from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib.postgres.fields import ArrayField
from django.db import models

Target = TypeVar("Target", bound=models.Model)

if TYPE_CHECKING:  # Django's fields take their types in the stubs only
    WholeNumber = models.BigIntegerField[int, int]
else:
    WholeNumber = models.BigIntegerField


class Xid8Field(WholeNumber):
    """The id of a transaction."""

    def db_type(self, connection: Any) -> str:
        return "xid8"

    def from_db_value(self, value: str | None, *_: object) -> int | None:
        return None if value is None else int(value)


class Row(models.Model):
    """One row of a table. The only right that exists is the right to look."""

    class Meta:
        abstract = True
        managed = False
        default_permissions = ("view",)


class Organization(Row):
    id = models.UUIDField(primary_key=True)
    name = models.TextField()
    ttl_seconds = models.IntegerField("holds last (s)", null=True)
    quantity_max = models.IntegerField("most per hold", null=True)
    created_at = models.DateTimeField()

    class Meta(Row.Meta):
        db_table = "organization"

    def __str__(self) -> str:
        return self.name


class OrganizationRow(Row):
    """A row that belongs to an organization."""

    organization = models.ForeignKey(Organization, models.DO_NOTHING, related_name="+")

    class Meta(Row.Meta):
        abstract = True


def same_organization(to: type[Target], column: str) -> "models.ForeignObject[Target, Target]":
    """A relation inside one organization. It joins on both columns, because every index leads with
    the organization; a join on the id alone would read the whole table."""
    return models.ForeignObject(
        to,
        on_delete=models.DO_NOTHING,
        from_fields=("organization", column),
        to_fields=("organization", "id"),
        related_name="+",
    )


def unique_in_organization(name: str) -> list[models.BaseConstraint]:
    """The true primary key, which the relations above refer to."""
    return [models.UniqueConstraint(fields=("organization", "id"), name=name)]


class ApiKey(OrganizationRow):
    """The hash of the secret is left out: the admin's role may not read it, nor need it."""

    id = models.UUIDField(primary_key=True)
    name = models.TextField()
    prefix = models.TextField()
    scopes = ArrayField(models.TextField())
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta(OrganizationRow.Meta):
        db_table = "api_key"
        verbose_name = "API key"

    def __str__(self) -> str:
        return self.name


class Event(OrganizationRow):
    id = models.UUIDField(primary_key=True)
    name = models.TextField()
    currency = models.TextField()
    ttl_seconds = models.IntegerField("holds last (s)", null=True)
    quantity_max = models.IntegerField("most per hold", null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta(OrganizationRow.Meta):
        db_table = "event"
        constraints = unique_in_organization("event_pkey")

    def __str__(self) -> str:
        return self.name


class Session(OrganizationRow):
    id = models.UUIDField(primary_key=True)
    event_id = models.UUIDField()
    event = same_organization(Event, "event_id")
    name = models.TextField()
    starts_at = models.DateTimeField(null=True)
    version = models.IntegerField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta(OrganizationRow.Meta):
        db_table = "session"
        constraints = unique_in_organization("session_pkey")

    def __str__(self) -> str:
        return self.name


class Pool(OrganizationRow):
    id = models.UUIDField(primary_key=True)
    session_id = models.UUIDField()
    session = same_organization(Session, "session_id")
    name = models.TextField()
    total = models.IntegerField()
    held = models.IntegerField()
    sold = models.IntegerField()
    created_at = models.DateTimeField()

    class Meta(OrganizationRow.Meta):
        db_table = "pool"
        constraints = unique_in_organization("pool_pkey")

    def __str__(self) -> str:
        return self.name


class PoolLapse(OrganizationRow):
    """Units of a pool by the second at which they lapse. It has no page of its own; pools show
    what it says as free."""

    pk = models.CompositePrimaryKey("organization_id", "pool_id", "lapses_at")
    pool_id = models.UUIDField()
    lapses_at = models.DateTimeField()
    units = models.IntegerField()

    class Meta(OrganizationRow.Meta):
        db_table = "pool_lapse"


class TicketType(OrganizationRow):
    id = models.UUIDField(primary_key=True)
    session_id = models.UUIDField()
    session = same_organization(Session, "session_id")
    name = models.TextField()
    price_minor = models.BigIntegerField()
    ttl_seconds = models.IntegerField("holds last (s)", null=True)
    quantity_max = models.IntegerField("most per hold", null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta(OrganizationRow.Meta):
        db_table = "ticket_type"
        constraints = unique_in_organization("ticket_type_pkey")

    def __str__(self) -> str:
        return self.name


class TicketTypePool(OrganizationRow):
    """Which pools a ticket type draws from; shown with the ticket type."""

    pk = models.CompositePrimaryKey("organization_id", "ticket_type_id", "pool_id")
    ticket_type_id = models.UUIDField()
    pool_id = models.UUIDField()
    pool = same_organization(Pool, "pool_id")

    class Meta(OrganizationRow.Meta):
        db_table = "ticket_type_pool"


class Hold(OrganizationRow):
    id = models.UUIDField(primary_key=True)
    session_id = models.UUIDField()
    session = same_organization(Session, "session_id")
    reference = models.TextField()
    customer_email = models.TextField(null=True)
    email_key = models.TextField(null=True, editable=False)
    user_id = models.TextField(null=True)
    quantity = models.IntegerField()
    total_minor = models.BigIntegerField()
    currency = models.TextField()
    status = models.TextField()
    version = models.IntegerField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    held_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True)
    cancelled_at = models.DateTimeField(null=True)
    expired_at = models.DateTimeField(null=True)

    class Meta(OrganizationRow.Meta):
        db_table = "hold"

    def __str__(self) -> str:
        return self.reference


class HoldLine(OrganizationRow):
    """One line of a hold; shown with the hold."""

    pk = models.CompositePrimaryKey("organization_id", "hold_id", "position")
    hold_id = models.UUIDField()
    position = models.SmallIntegerField()
    ticket_type_id = models.UUIDField()
    ticket_type = same_organization(TicketType, "ticket_type_id")
    quantity = models.IntegerField()
    unit_price_minor = models.BigIntegerField()
    pool_ids = ArrayField(models.UUIDField())

    class Meta(OrganizationRow.Meta):
        db_table = "hold_line"


class Fact(OrganizationRow):
    """A row of the outbox."""

    seq = models.BigIntegerField("number", primary_key=True)
    xid = Xid8Field("transaction")
    event_id = models.UUIDField()
    hold_id = models.UUIDField()
    version = models.IntegerField()
    type = models.TextField()
    occurred_at = models.DateTimeField()
    payload = models.JSONField()

    class Meta(OrganizationRow.Meta):
        db_table = "outbox"

    def __str__(self) -> str:
        return f"{self.type} #{self.seq}"


class AuditEntry(OrganizationRow):
    seq = models.BigIntegerField("number", primary_key=True)
    at = models.DateTimeField("time")
    action = models.TextField()
    hold_id = models.UUIDField()
    actor = models.TextField()
    request_id = models.TextField()
    ip = models.GenericIPAddressField("IP address", null=True)
    user_agent = models.TextField(null=True)
    old = models.JSONField(null=True)
    new = models.JSONField()

    class Meta(OrganizationRow.Meta):
        db_table = "audit"
        verbose_name = "audit entry"
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.action} #{self.seq}"
