"""The demo's shop: a cart page whose browser gets a holder token and never sees a secret key. Its
server side does what a platform's server does."""

from uuid import UUID

from django.conf import settings
from django.core.signing import BadSignature
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe
from uuid_utils.compat import uuid7

from holdfast.domain.access.keys import KeyStatus
from holdfast.domain.access.scopes import Scope
from holdfast.domain.access.tokens import TTL_SECONDS_DEFAULT
from holdfast.domain.amounts import MINOR_DIGITS
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.ports.access import Principal
from holdfast.ports.paging import PageRequest
from holdfast.services import reads
from holdfast.services.access.tokens import IssuedToken, TokenDesk

_BUYER_COOKIE = "holdfast_demo_buyer"
_BUYER_SECONDS = 7 * 86_400
_KEYS_READ_MAX = 100


@require_safe
def cart(request: HttpRequest) -> HttpResponse:
    _require_demo()
    return render(request, "pages/cart.html", {"minor_digits": dict(MINOR_DIGITS)})


@csrf_exempt  # it changes nothing, and another site's script cannot read the response
@require_POST
@never_cache
def token(request: HttpRequest) -> HttpResponse:
    """A token for this browser's buyer, whom a signed cookie remembers. Only an organization that
    allows anonymous holders has this shop."""
    _require_demo()
    organization_id = _organization(request)
    services = AdminConfig.services
    organization = reads.organization(services.organizations, organization_id)
    if isinstance(organization, Refusal) or not organization.anonymous_holders:
        raise Http404
    issuer = _issuer(organization_id)
    assert issuer.key_id is not None
    desk = TokenDesk(services.holders, issuer, issuer.key_id, _origin())
    issued = desk.issue(_known_buyer(request, organization_id), TTL_SECONDS_DEFAULT).outcome
    if not isinstance(issued, IssuedToken):
        return JsonResponse({"message": "The shop is closed for the moment."}, status=503)
    user_id = issued.token.holder.user_id
    response = JsonResponse({"token": issued.text, "user_id": user_id})
    response.set_signed_cookie(
        _BUYER_COOKIE,
        str(user_id),
        salt=str(organization_id),
        max_age=_BUYER_SECONDS,
        path="/demo/",
        httponly=True,
        samesite="Strict",
        secure=request.is_secure(),
    )
    return response


def _require_demo() -> None:
    if not settings.HOLDFAST_IS_DEMO:
        raise Http404


def _organization(request: HttpRequest) -> OrganizationId:
    try:
        return OrganizationId(UUID(request.GET.get("organization", "")))
    except ValueError:
        raise Http404 from None


def _known_buyer(request: HttpRequest, organization_id: OrganizationId) -> Holder | None:
    try:
        user_id = request.get_signed_cookie(_BUYER_COOKIE, salt=str(organization_id))
    except (KeyError, BadSignature):
        return None
    return Holder(user_id=user_id)


def _issuer(organization_id: OrganizationId) -> Principal:
    """The newest key that may issue tokens. A platform's server has one of its own."""
    page = reads.keys(AdminConfig.services.keys, organization_id, PageRequest(_KEYS_READ_MAX, None))
    found = () if isinstance(page, Refusal) else page.items
    for key in found:
        if key.status is KeyStatus.VALID and Scope.TOKENS_WRITE in key.scopes:
            return Principal(organization_id, key.id, frozenset(key.scopes), key.mode)
    raise Http404


def _origin() -> Origin:
    return Origin(actor="demo", request_id=str(uuid7()))
