"""What the person who is logged in may see and do. Operators of the installation (superusers) may
do everything. Members may do what their role in each organization allows."""

from contextvars import ContextVar
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from uuid_utils.compat import uuid7

from holdfast.adapters.postgres.models import Member, Organization
from holdfast.domain.access.members import Grantor
from holdfast.domain.access.roles import SCOPES_OF_ROLE, Role
from holdfast.domain.access.scopes import Scope
from holdfast.domain.group.origin import Origin
from holdfast.entrypoints.admin.people import two_factor
from holdfast.entrypoints.admin.people.pages import SCOPE_OF_PAGE

_USER_AGENT_LENGTH_MAX = 500

# Set for the columns of a list: they get only a row, but show links only to pages that the person
# may open.
current_request: ContextVar[HttpRequest | None] = ContextVar("current_request", default=None)


def is_operator(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.is_active and user.is_superuser)


def may(request: HttpRequest, scope: Scope | None, organization_id: UUID) -> bool:
    if is_operator(request):
        return True
    role = roles_of(request).get(organization_id)
    return role is not None and scope in SCOPES_OF_ROLE[role]


def may_somewhere(request: HttpRequest, scope: Scope | None) -> bool:
    if is_operator(request):
        return True
    return any(scope in SCOPES_OF_ROLE[role] for role in roles_of(request).values())


def require(request: HttpRequest, scope: Scope, organization_id: UUID) -> None:
    if not may(request, scope, organization_id):
        raise PermissionDenied


def visible(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """The rows of those organizations in which the person may open this model's page."""
    if is_operator(request):
        return rows
    scope = scope_of(rows.model)
    own = [id_ for id_, role in roles_of(request).items() if scope in SCOPES_OF_ROLE[role]]
    return rows.filter(**{f"{organization_column(rows.model)}__in": own})


def scope_of(model: type[Model]) -> Scope | None:
    return SCOPE_OF_PAGE.get(model.__name__.lower())


def organization_column(model: type[Model]) -> str:
    return "id" if model is Organization else "organization_id"


def shows_links_to(model: type[Model], organization_id: UUID | None) -> bool:
    """Whether the person may open the page that a link would lead to."""
    request = current_request.get()
    if request is None:
        return True
    if organization_id is None:
        return may_somewhere(request, scope_of(model))
    return may(request, scope_of(model), organization_id)


def roles_of(request: HttpRequest) -> dict[UUID, Role]:
    """The person's role in each of their organizations, read once per request. Organizations that
    require two-factor authentication are left out until the person has turned it on."""
    known: dict[UUID, Role] | None = getattr(request, "holdfast_roles", None)
    if known is None:
        user: Any = request.user
        rows = Member.objects.filter(user_id=user.pk) if user.is_active else Member.objects.none()
        if user.is_active and not two_factor.is_on(user):
            rows = rows.exclude(organization__two_factor_required=True)
        known = {id_: Role(role) for id_, role in rows.values_list("organization_id", "role")}
        request.holdfast_roles = known  # type: ignore[attr-defined]
    return known


def needs_two_factor(request: HttpRequest) -> bool:
    """Whether an organization of the person requires what the person has not turned on."""
    user: Any = request.user
    strict = Member.objects.filter(user_id=user.pk, organization__two_factor_required=True)
    return not two_factor.is_on(user) and strict.exists()


def grantor_of(request: HttpRequest, organization_id: UUID) -> Grantor:
    if is_operator(request):
        return Grantor()
    role = roles_of(request).get(organization_id)
    scopes = () if role is None else SCOPES_OF_ROLE[role]
    return Grantor(frozenset(scope.value for scope in scopes))


def origin_of(request: HttpRequest, user: Any = None) -> Origin:
    """The origin for the audit log: the person who is logged in, or `user` if given."""
    who: Any = user or request.user
    name = who.get_username()
    return Origin(
        actor=f"operator:{name}" if who.is_superuser else f"member:{who.pk}",
        request_id=str(uuid7()),
        ip=request.META.get("REMOTE_ADDR") or None,
        user_agent=request.headers.get("user-agent", "")[:_USER_AGENT_LENGTH_MAX] or None,
        acting_user=name,
    )
