"""Creates organizations with their first key, and admin users, as the owner of the tables."""

from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import connections
from django.db.models import Value
from django.db.models.functions import Lower
from uuid_utils.compat import uuid7

from holdfast.adapters.postgres.access.login_names import counted
from holdfast.adapters.postgres.access.organizations import PostgresOrganizations, Side
from holdfast.bootstrap.database import OWNER
from holdfast.bootstrap.settings import Settings
from holdfast.domain.access.scopes import Mode
from holdfast.domain.ids import OrganizationId
from holdfast.services.access.authentication import new_secret_key


def create_organization(settings: Settings, name: str, mode: Mode) -> tuple[OrganizationId, str]:
    """Create both sides of an organization. Returns the id of the one with this mode, and its first
    secret key, which is shown once and never stored."""
    secret, key = new_secret_key(mode)
    ids = {each: OrganizationId(uuid7()) for each in Mode}
    sides = [Side(organization_id, name, each) for each, organization_id in ids.items()]
    PostgresOrganizations(settings.required_owner_url).create_account(sides, key, mode)
    return ids[mode], secret


def is_known_person(username: str) -> bool:
    try:
        return bool(_alike(username).exists())
    finally:
        connections[OWNER].close()


class BelongsToOrganization(Exception):
    """The account was created by an organization, or is a member of one."""


def ensure_admin(username: str, password: str) -> None:
    """Create a superuser, or give the existing user this password and these rights, and end a
    lock-out. Django must be set up and the database migrated. May raise BelongsToOrganization: an
    organization can invite any name that nobody has, and an operator must not pick up its account
    unawares."""
    try:
        user = _account(username)
        if not user.is_superuser and _is_of_organization(user.pk):
            raise BelongsToOrganization
        user.is_active = user.is_staff = user.is_superuser = True
        # A new hash of the same password would end all sessions.
        if not user.check_password(password):
            user.set_password(password)
        user.save(using=OWNER)
        attempts = apps.get_model("axes.AccessAttempt").objects.using(OWNER)
        attempts.filter(username=counted(username)).delete()
    finally:
        connections[OWNER].close()


def _alike(username: str) -> Any:
    users = get_user_model().objects.using(OWNER).alias(name=Lower("username"))
    return users.filter(name=Lower(Value(username)))


def _account(username: str) -> Any:
    """The account with this name, whatever its case. A new one if there is none; and if there are
    several, which were created before names had to differ in more than that, the exact one."""
    known = list(_alike(username)[:2])
    if len(known) == 1:
        return known[0]
    user, _ = get_user_model().objects.using(OWNER).get_or_create(username=username)
    return user


def _is_of_organization(user_id: int) -> bool:
    models = (apps.get_model("holdfast", name) for name in ("Person", "Member"))
    return any(each.objects.using(OWNER).filter(user_id=user_id).exists() for each in models)
