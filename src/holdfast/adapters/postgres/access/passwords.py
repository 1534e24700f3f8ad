"""Checks passwords and codes as the admin pages do, so that failures are counted together."""

from collections.abc import Mapping
from typing import Any
from unicodedata import normalize

from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth import authenticate, get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.signals import user_logged_in
from django.db import DatabaseError, close_old_connections, transaction
from django.db.models import Sum, Value
from django.db.models.functions import Lower
from django.http import HttpRequest
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from holdfast.adapters.postgres.access.login_names import counted
from holdfast.adapters.postgres.models import Member, Organization
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
        known = None if username is None else account_named(username)
        name = username if known is None else known.get_username()
        user = super().authenticate(request, username=name, password=password, **kwargs)
        if user is None or not (organization_id is None or _is_member(user, organization_id)):
            return None
        return user if is_right_code(user, otp_token) else None


def account_named(username: str) -> Any:
    """The account with this name, whatever its case, or None. Older accounts may differ only in
    case; then the exact name decides."""
    alike = get_user_model().objects.alias(name=Lower("username"))
    found: list[Any] = []
    # Older versions stored names as they were typed.
    for name in dict.fromkeys((username, normalize("NFKC", username))):
        found = found or list(alike.filter(name=Lower(Value(name)))[:2])
    if len(found) < 2:
        return found[0] if found else None
    return get_user_model().objects.filter(username=username).first()


def counted_name(request: HttpRequest | None, credentials: Mapping[str, Any] | None) -> str:
    """The name under which failed log-ins are counted: otherwise each spelling would get its own
    attempts."""
    given = credentials or (request.POST if request is not None else {})
    return counted(str(given.get("username") or ""))


def _is_member(user: Any, organization_id: OrganizationId) -> bool:
    return Member.objects.filter(user=user, organization_id=organization_id).exists()


def is_worth_noting(request: HttpRequest, username: str) -> bool:
    """Whether to audit a failed log-in. Strangers must not fill the log, so attempts after a
    lock-out are left out, and so are those beyond a limit per person, from any address."""
    if getattr(request, "axes_failures_since_start", None) is None:
        return False
    since = timezone.now() - settings.AXES_COOLOFF_TIME
    recent = AccessAttempt.objects.filter(username=counted(username), attempt_time__gt=since)
    failures = recent.aggregate(total=Sum("failures_since_start"))["total"] or 0
    return bool(failures <= FAILURES_NOTED_MAX)


def uses_two_factor(user: Any) -> bool:
    return bool(TOTPDevice.objects.filter(user_id=user.pk, confirmed=True).exists())


def lacks_two_factor(user: Any, *organization_ids: OrganizationId) -> bool:
    """Whether one of these organizations requires two-factor authentication and the person has
    none."""
    strict = Organization.objects.filter(id__in=organization_ids, two_factor_required=True)
    return strict.exists() and not uses_two_factor(user)


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
        if lacks_two_factor(user, credentials.organization_id):
            return Refused(_person(user), None, needs_two_factor=True)
        # Ends the count of failures, and notes the time of the log-in.
        user_logged_in.send(sender=type(user), request=request, user=user)
        return _person(user)
    known = None
    if is_worth_noting(request, credentials.username):
        known = account_named(credentials.username)
    is_locked_out = getattr(request, "axes_locked_out", False)
    pause = int(settings.AXES_COOLOFF_TIME.total_seconds()) if is_locked_out else None
    return Refused(None if known is None else _person(known), pause)


def _person(user: Any) -> Person:
    organizations = Member.objects.filter(user=user).values_list("organization_id", flat=True)
    return Person(user.pk, user.get_username(), tuple(map(OrganizationId, organizations)))
