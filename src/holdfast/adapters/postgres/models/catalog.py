"""The catalog, and the API keys."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from holdfast.adapters.postgres.models.base import (
    OrganizationRow,
    PolicyRow,
    same_organization,
    unique_in_organization,
)


class ApiKey(OrganizationRow):
    """Without the secret's hash, which the admin's role may not read."""

    id = models.UUIDField(primary_key=True)
    name = models.TextField()
    prefix = models.TextField()
    scopes = ArrayField(models.TextField())
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField("last used", null=True)
    replaces = models.UUIDField(null=True)

    class Meta(OrganizationRow.Meta):
        db_table = "api_key"
        verbose_name = "API key"

    def __str__(self) -> str:
        return self.name


class Event(OrganizationRow, PolicyRow):
    id = models.UUIDField(primary_key=True)
    name = models.TextField()
    currency = models.TextField()
    status = models.TextField()
    sale_starts_at = models.DateTimeField("on sale from", null=True)
    sale_ends_at = models.DateTimeField("on sale until", null=True)
    is_announced = models.BooleanField("announced", default=True)
    venue = models.TextField(null=True)
    time_zone = models.TextField(null=True)
    metadata = models.JSONField()
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
    status = models.TextField()
    metadata = models.JSONField()
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
    """Units of a pool by the second in which they lapse. It has no page; pools show lapsed units as
    free."""

    pk = models.CompositePrimaryKey("organization_id", "pool_id", "lapses_at")
    pool_id = models.UUIDField()
    lapses_at = models.DateTimeField()
    units = models.IntegerField()

    class Meta(OrganizationRow.Meta):
        db_table = "pool_lapse"


class TicketType(OrganizationRow, PolicyRow):
    id = models.UUIDField(primary_key=True)
    session_id = models.UUIDField()
    session = same_organization(Session, "session_id")
    name = models.TextField()
    price_minor = models.BigIntegerField()
    is_seated = models.BooleanField("seated")
    metadata = models.JSONField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta(OrganizationRow.Meta):
        db_table = "ticket_type"
        constraints = unique_in_organization("ticket_type_pkey")

    def __str__(self) -> str:
        return self.name


class TicketTypePool(OrganizationRow):
    """A pool of a ticket type; shown with the ticket type."""

    pk = models.CompositePrimaryKey("organization_id", "ticket_type_id", "pool_id")
    ticket_type_id = models.UUIDField()
    pool_id = models.UUIDField()
    pool = same_organization(Pool, "pool_id")

    class Meta(OrganizationRow.Meta):
        db_table = "ticket_type_pool"
