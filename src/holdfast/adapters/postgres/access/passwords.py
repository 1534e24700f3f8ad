"""Checks passwords and codes the way the admin pages do, so that both count wrong ones together."""

from typing import Any

from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth import authenticate, get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.signals import user_logged_in
from django.db import DatabaseError, close_old_connections, transaction
from django.db.models import Sum
from django.http import HttpRequest
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from holdfast.adapters.postgres.models import Member
from holdfast.domain.access.members import FAILURES_NOTED_MAX
from holdfast.domain.ids import OrganizationId
from holdfast.ports.members import Credentials, Person, Refused
from holdfast.ports.store import StoreUnavailable


class TwoFactorBackend(ModelBackend):
    """The password, and a code if the person has turned on two-factor authentication. A wrong code
    looks like a wrong password, and counts like one; so does an organization that the person is not
    a member of."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        otp_token: str = "",
        organization_id: OrganizationId | None = None,
        **kwargs: Any,
    ) -> Any:
        user = super().authenticate(request, username=username, password=password, **kwargs)
        if user is None or not (organization_id is None or _is_member(user, organization_id)):
            return None
        return user if is_right_code(user, otp_token) else None


def _is_member(user: Any, organization_id: OrganizationId) -> bool:
    return Member.objects.filter(user=user, organization_id=organization_id).exists()


def is_worth_noting(request: HttpRequest, username: str) -> bool:
    """Whether a failed log-in belongs in the audit. Strangers shall not fill it: what comes after a
    lock-out was not counted, and from however many addresses, only some count at a time."""
    if getattr(request, "axes_failures_since_start", None) is None:
        return False
    since = timezone.now() - settings.AXES_COOLOFF_TIME
    recent = AccessAttempt.objects.filter(username=username, attempt_time__gt=since)
    failures = recent.aggregate(total=Sum("failures_since_start"))["total"] or 0
    return bool(failures <= FAILURES_NOTED_MAX)


def uses_two_factor(user: Any) -> bool:
    return bool(TOTPDevice.objects.filter(user=user, confirmed=True).exists())


def is_right_code(user: Any, code: str) -> bool:
    """True for a person without two-factor authentication. Each code works once; after wrong ones
    the next is checked only after a pause that doubles each time."""
    if not uses_two_factor(user):
        return True
    entered = "".join(code.split()).replace("-", "").lower()
    device_model = TOTPDevice if entered.isdecimal() else StaticDevice
    with transaction.atomic():
        devices = device_model.objects.select_for_update().filter(user=user, confirmed=True)
        return any(device.verify_token(entered) for device in devices)


class DjangoPasswords:
    """Implements PasswordCheck. Call it from one thread, which keeps its connection."""

    def check(self, credentials: Credentials, address: str, user_agent: str) -> Person | Refused:
        close_old_connections()
        try:
            return _check(credentials, address, user_agent)
        except DatabaseError as error:
            raise StoreUnavailable(type(error).__name__) from error


def _check(credentials: Credentials, address: str, user_agent: str) -> Person | Refused:
    request = HttpRequest()
    request.method, request.path = "POST", "/api/member-sessions"
    request.META = {"REMOTE_ADDR": address, "HTTP_USER_AGENT": user_agent}
    user: Any = authenticate(
        request,
        username=credentials.username,
        password=credentials.password,
        otp_token=credentials.code,
        organization_id=credentials.organization_id,
    )
    if user is not None:
        # Ends the count of failures, and notes the time of the log-in.
        user_logged_in.send(sender=type(user), request=request, user=user)
        return _person(user)
    known = None
    if is_worth_noting(request, credentials.username):
        known = get_user_model().objects.filter(username=credentials.username).first()
    is_locked_out = getattr(request, "axes_locked_out", False)
    pause = int(settings.AXES_COOLOFF_TIME.total_seconds()) if is_locked_out else None
    return Refused(None if known is None else _person(known), pause)


def _person(user: Any) -> Person:
    organizations = Member.objects.filter(user=user).values_list("organization_id", flat=True)
    return Person(user.pk, user.get_username(), tuple(map(OrganizationId, organizations)))
