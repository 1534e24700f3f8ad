"""The waitlists, their queues, and the parties in them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from holdfast.adapters.postgres.models.base import OrganizationRow, same_organization
from holdfast.adapters.postgres.models.catalog import Session
from holdfast.adapters.postgres.models.holds import Hold


class Waitlist(OrganizationRow):
    session_id = models.UUIDField(primary_key=True)
    session = same_organization(Session, "session_id")
    is_settled = models.BooleanField()
    version = models.UUIDField(null=True)

    class Meta(OrganizationRow.Meta):
        db_table = "waitlist"

    def __str__(self) -> str:
        return str(self.session)


class WaitingLine(OrganizationRow):
    id = models.UUIDField(primary_key=True)
    session_id = models.UUIDField()
    session = same_organization(Session, "session_id")
    wants = ArrayField(models.UUIDField())
    waiting = models.IntegerField()
    passes = models.IntegerField()
    served = models.IntegerField()
    opened_at = models.DateTimeField()

    class Meta(OrganizationRow.Meta):
        db_table = "waiting_line"


class WaitingPlace(OrganizationRow):
    hold_id = models.UUIDField(primary_key=True)
    hold = same_organization(Hold, "hold_id")
    session_id = models.UUIDField()
    session = same_organization(Session, "session_id")
    line_id = models.UUIDField()
    since = models.DateTimeField("waiting since")
    passes_seen = models.IntegerField()

    class Meta(OrganizationRow.Meta):
        db_table = "waiting_place"
