"""Members, their sessions on the API, and log-ins to the admin pages."""

from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone

from holdfast.adapters.postgres.models.base import OrganizationRow, Row, same_organization


class Member(OrganizationRow):
    id = models.UUIDField(primary_key=True)
    user = models.ForeignKey(User, models.DO_NOTHING, related_name="+")
    role = models.TextField()
    created_at = models.DateTimeField("member since")

    class Meta(OrganizationRow.Meta):
        db_table = "member"

    def __str__(self) -> str:
        return self.user.get_username()


class MemberSession(OrganizationRow):
    id = models.UUIDField(primary_key=True)
    member_id = models.UUIDField()
    member = same_organization(Member, "member_id")
    ip = models.GenericIPAddressField(null=True)
    user_agent = models.TextField(null=True)
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField()
    ends_at = models.DateTimeField()

    class Meta(OrganizationRow.Meta):
        db_table = "member_session"


class Person(Row):
    """What Django's table of users has no column for."""

    user = models.OneToOneField(User, models.DO_NOTHING, primary_key=True, related_name="+")
    account_id = models.UUIDField(null=True)
    invitation_hash = models.BinaryField(null=True)
    invited_until = models.DateTimeField(null=True)

    class Meta(Row.Meta):
        db_table = "person"


class LoginSession(AbstractBaseSession):
    """A session of the admin pages. `id` names it without revealing its key."""

    id = models.UUIDField(default=uuid4)
    user = models.ForeignKey(User, models.DO_NOTHING, related_name="+", null=True)
    ip = models.GenericIPAddressField(null=True)
    user_agent = models.TextField(default="")
    created_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField(default=timezone.now)

    class Meta(Row.Meta):
        db_table = "login_session"

    @classmethod
    def get_session_store_class(cls) -> Any:
        from holdfast.adapters.postgres.login_sessions import SessionStore  # noqa: PLC0415

        return SessionStore

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Only a new session gets its other columns from here."""
        if kwargs.get("force_update"):
            kwargs["update_fields"] = ("session_data", "expire_date", "user")
        super().save(*args, **kwargs)
