"""The page where an invited person chooses a password."""

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from holdfast.adapters.postgres.models import Person
from holdfast.entrypoints.admin.people.log_in import note
from holdfast.services.access.members import invitation_hash

if TYPE_CHECKING:  # django-unfold has no types
    from django.contrib.auth.forms import SetPasswordForm
else:
    from django.contrib.auth.forms import SetPasswordForm as _Plain
    from unfold.forms import AdminOwnPasswordChangeForm as _Styled

    class SetPasswordForm(_Plain):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            styled = _Styled(self.user)
            for name in ("new_password1", "new_password2"):
                self.fields[name].widget = styled.fields[name].widget


_COOKIE = "holdfast_invitation"
_COOKIE_SECONDS = 3600


@never_cache
@require_safe
def follow(request: HttpRequest, secret: str) -> HttpResponse:
    """Move the secret out of the address, which stays in the browser's history."""
    _invited(secret)
    answer = HttpResponseRedirect(reverse("invitation-accept"))
    # Strict cookies are not sent after a redirect from a link on another site, such as a mailbox.
    answer.set_cookie(
        _COOKIE,
        secret,
        max_age=_COOKIE_SECONDS,
        path=reverse("invitation-accept"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return answer


@never_cache
def accept(request: HttpRequest) -> HttpResponse:
    """The invitation works once. Unknown and expired ones look alike."""
    wanted, user = _invited(request.COOKIES.get(_COOKIE, ""))
    form = SetPasswordForm(user, request.POST or None)
    if form.is_valid():
        with transaction.atomic():
            used = Person.objects.filter(**wanted).update(invitation_hash=None, invited_until=None)
            if not used:
                raise Http404
            form.save()
        note(request, user, "member.joined")
        return _page(request, "joined", user)
    return _page(request, "invitation", user, form=form)


def _invited(secret: str) -> tuple[dict[str, Any], Any]:
    """How to find the invitation, and whose it is."""
    wanted = {"invitation_hash": invitation_hash(secret), "invited_until__gt": timezone.now()}
    person = Person.objects.filter(**wanted).first()
    if person is None:
        raise Http404
    user = get_user_model().objects.get(pk=person.user_id)
    if user.has_usable_password() or user.is_superuser:  # the trigger has ended its invitation
        raise Http404
    return wanted, user


def _page(request: HttpRequest, name: str, user: Any, **more: Any) -> HttpResponse:
    context = {**admin.site.each_context(request), "username": user.get_username(), **more}
    return render(request, f"holdfast/{name}.html", context)
