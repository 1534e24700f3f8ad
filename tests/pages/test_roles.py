"""What each role sees and may do in the admin pages, in its own organization and in another: the
matrix is made from the tables of roles and pages."""

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from django.contrib import admin
from django.test import Client

from holdfast.domain.access.roles import SCOPES_OF_ROLE, Role
from holdfast.domain.access.scopes import Scope
from holdfast.entrypoints.admin.people.pages import SCOPE_OF_PAGE
from tests.pages.sales import Sale, new_sale, page
from tests.pages.staff import browser_of, hire
from tests.pages.test_admin import id_of as row_id_of

SEAT_NUMBERS = count(1)
FORM = {"name": "x", "scopes": ["holds"], "hours": "0", "username": "someone", "role": "viewer"}


def id_of(model: str, sale: Sale) -> object:
    if model == "waitlist":
        return sale.session_id
    return row_id_of(model, sale)


@pytest.fixture
def neighbour(sale: Sale) -> Sale:
    return furnished(new_sale(sale.owner))


@pytest.fixture
def own(sale: Sale) -> Sale:
    return furnished(sale)


def furnished(sale: Sale) -> Sale:
    sale.pay(sale.place())
    sale.seat("A", 1)
    return sale


def test_every_page_of_ours_has_a_scope(sale: Sale) -> None:
    registered = admin.site._registry
    ours = {
        model.__name__.lower() for model in registered if model.__module__.startswith("holdfast")
    }
    assert set(SCOPE_OF_PAGE) == ours


@pytest.mark.parametrize("role", list(Role))
def test_pages_by_role(database_url: str, own: Sale, neighbour: Sale, role: Role) -> None:
    hire(database_url, neighbour, "owner")
    client = browser_of(hire(database_url, own, role.value))
    seen = client.get("/admin/").content.decode()
    for model, scope in SCOPE_OF_PAGE.items():
        allowed = scope in SCOPES_OF_ROLE[role]
        mine, theirs = id_of(model, own), id_of(model, neighbour)
        where = f"/admin/holdfast/{model}/"
        assert (where in seen) == allowed, model
        listed = client.get(where)
        detail = client.get(f"{where}{mine}/change/")
        foreign = client.get(f"{where}{theirs}/change/")
        if not allowed:
            statuses = [each.status_code for each in (listed, detail, foreign)]
            assert statuses == [403, 403, 403], (model, statuses)
            assert "Your role does not allow this" in detail.content.decode()
            continue
        assert (listed.status_code, detail.status_code) == (200, 200), model
        assert f"{model}/{theirs}/change" not in listed.content.decode(), model
        # Like an unknown id: back to the start, with a message.
        assert (foreign.status_code, foreign.headers["Location"]) == (302, "/admin/"), model
        searched = client.get(where, {"q": str(theirs)}).content.decode()
        assert f"{theirs}/change" not in searched, model


Address = Callable[[Sale], str]


def organization_path(name: str, sale: Sale) -> str:
    return f"/admin/holdfast/{name.format(sale.organization_id)}/"


def row_path(model: str, name: str, sale: Sale) -> str:
    return f"/admin/holdfast/{model}/{id_of(model, sale)}/{name}/"


def hold_path(name: str, sale: Sale) -> str:
    """An action on a hold that it is offered for."""
    status = "waiting" if name == "remove" else "active"
    held_at: dict[str, Any] = {"held_at": None} if name == "remove" else {}
    hold_id = sale.place(seat_id=sale.seat("B", next(SEAT_NUMBERS)), status=status, **held_at)
    return f"/admin/holdfast/hold/{hold_id}/{name}/"


ACTIONS: dict[str, tuple[Address, Scope]] = {
    "new key": (partial(organization_path, "apikey/new/{}"), Scope.KEYS_WRITE),
    "rotate key": (partial(row_path, "apikey", "rotate"), Scope.KEYS_WRITE),
    "revoke key": (partial(row_path, "apikey", "revoke"), Scope.KEYS_WRITE),
    "settings": (partial(organization_path, "organization/{}/settings"), Scope.SETTINGS_WRITE),
    "new member": (partial(organization_path, "member/new/{}"), Scope.MEMBERS_WRITE),
    "role": (partial(row_path, "member", "role"), Scope.MEMBERS_WRITE),
    "remove": (partial(row_path, "member", "remove"), Scope.MEMBERS_WRITE),
    "end sessions": (partial(row_path, "member", "sessions"), Scope.MEMBERS_WRITE),
    "new event": (partial(organization_path, "event/new/{}"), Scope.CATALOG_WRITE),
    "extend hold": (partial(hold_path, "extend"), Scope.HOLDS_OPERATE),
    "move hold": (partial(hold_path, "move"), Scope.HOLDS_OPERATE),
    "release hold": (partial(hold_path, "release"), Scope.HOLDS_OPERATE),
    "expire hold": (partial(hold_path, "expire"), Scope.HOLDS_OPERATE),
    "remove from the waitlist": (partial(hold_path, "remove"), Scope.HOLDS_OPERATE),
    "record payment": (partial(hold_path, "pay"), Scope.HOLDS_WRITE),
}
CATALOG_PAGES = {
    "event": (
        *("publish", "edit", "policy", "pause", "resume", "archive", "cancel"),
        *("session", "sessions", "clear"),
    ),
    "session": (
        *("edit", "tickettype", "pool", "block", "design", "upload", "copy", "cancel", "clear"),
    ),
    "tickettype": ("edit", "policy"),
    "pool": ("edit",),
    "block": ("edit",),
}
ACTIONS |= {
    f"{name} of {model}": (partial(row_path, model, name), Scope.CATALOG_WRITE)
    for model, names in CATALOG_PAGES.items()
    for name in names
}


# Buttons on the pages of the catalog that change no catalog.
ACTIONS["hold for a customer"] = (partial(row_path, "session", "hold"), Scope.HOLDS_WRITE)


def test_every_page_that_changes_the_catalog_is_in_the_matrix(sale: Sale) -> None:
    # Cannot be imported before Django is set up.
    from holdfast.entrypoints.admin.catalog.offers import CatalogAdmin

    offered = {
        model.__name__.lower(): {
            offer.name for offer in page.offers if offer.scope is Scope.CATALOG_WRITE
        }
        for model, page in admin.site._registry.items()
        if isinstance(page, CatalogAdmin)
    }
    assert offered == {model: set(names) for model, names in CATALOG_PAGES.items()}


@pytest.mark.parametrize("role", list(Role))
def test_buttons_that_change_the_catalog_by_role(database_url: str, own: Sale, role: Role) -> None:
    client = browser_of(hire(database_url, own, role.value))
    may_change = Scope.CATALOG_WRITE in SCOPES_OF_ROLE[role]
    for model in CATALOG_PAGES:
        shown = page(client, f"{model}/{id_of(model, own)}/change/")
        assert ("/edit/" in shown) == may_change, model
        assert (f"{model}/add/" in page(client, f"{model}/")) == may_change, model
        # The page to start from: a form, a choice, or a page that says who may.
        answer = client.get(f"/admin/holdfast/{model}/add/")
        assert answer.status_code in ({200, 302} if may_change else {403}), model
        assert may_change or "Your role does not allow this" in answer.content.decode()


@pytest.mark.parametrize("role", list(Role))
def test_actions_by_role(database_url: str, own: Sale, neighbour: Sale, role: Role) -> None:
    hire(database_url, neighbour, "owner")
    client = browser_of(hire(database_url, own, role.value))
    paths = {name: (address(own), address(neighbour)) for name, (address, _) in ACTIONS.items()}
    before = everything(neighbour), everything(own)
    for name, (_, scope) in ACTIONS.items():
        allowed = scope in SCOPES_OF_ROLE[role]
        mine, foreign = paths[name]
        # Only a cancelled sale is cleared; any other leads back to its page.
        seen = 302 if name.startswith("clear of") else 200
        assert client.get(mine).status_code == (seen if allowed else 403), name
        # Nobody else's rows: not found, or not even asked.
        expected = {404} if allowed else {403, 404}
        assert client.get(foreign).status_code in expected, name
        assert client.post(foreign, FORM).status_code in expected, name
        if not allowed:
            assert client.post(mine, FORM).status_code == 403, name
    assert everything(neighbour) == before[0]
    if role is not Role.OWNER:
        assert everything(own) == before[1]


def everything(sale: Sale) -> list[object]:
    queries = (
        "SELECT * FROM organization WHERE id = %s",
        "SELECT * FROM api_key WHERE organization_id = %s ORDER BY id",
        "SELECT * FROM member WHERE organization_id = %s ORDER BY id",
        "SELECT * FROM event WHERE organization_id = %s ORDER BY id",
        "SELECT * FROM session WHERE organization_id = %s ORDER BY id",
        "SELECT * FROM pool WHERE organization_id = %s ORDER BY id",
        "SELECT * FROM ticket_type WHERE organization_id = %s ORDER BY id",
        "SELECT * FROM block WHERE organization_id = %s ORDER BY id",
        "SELECT count(*) FROM audit WHERE organization_id = %s",
    )
    return [sale.owner.execute(each, [sale.organization_id]).fetchall() for each in queries]


@pytest.mark.parametrize("role", list(Role))
def test_links_to_pages_that_are_not_allowed_are_not_shown(
    database_url: str, own: Sale, role: Role
) -> None:
    client = browser_of(hire(database_url, own, role.value))
    pages = (
        f"organization/{own.organization_id}/change/",
        f"hold/{id_of('hold', own)}/change/",
        f"order/{id_of('order', own)}/change/",
        f"session/{own.session_id}/change/",
        f"seat/{id_of('seat', own)}/change/",
    )
    for path in pages:
        shown = page(client, path)
        for model, scope in SCOPE_OF_PAGE.items():
            if scope not in SCOPES_OF_ROLE[role]:
                assert f"/admin/holdfast/{model}/" not in shown, (path, model)
        offers = "New API key" in shown, "Change settings" in shown, "Add a member" in shown
        is_shown = role is Role.OWNER and path.startswith("organization")
        assert offers == (is_shown, is_shown, is_shown), path


def test_a_person_without_an_organization_sees_nothing(
    database_url: str, own: Sale, neighbour: Sale
) -> None:
    staff = hire(database_url, own, "viewer")
    own.owner.execute("DELETE FROM member WHERE user_id = %s", [staff.user_id])
    client = browser_of(staff)
    assert "not a member of any organization" in client.get("/admin/account/").content.decode()
    for model in SCOPE_OF_PAGE:
        assert client.get(f"/admin/holdfast/{model}/").status_code == 403
    for path in ("auth/user/", f"auth/user/{staff.user_id}/change/", "auth/user/add/"):
        assert client.get(f"/admin/{path}").status_code == 403


def test_permissions_of_django_grant_nothing(database_url: str, own: Sale) -> None:
    """Only roles count."""
    staff = hire(database_url, own, "viewer")
    own.owner.execute(
        "INSERT INTO auth_user_user_permissions (user_id, permission_id)"
        " SELECT %s, id FROM auth_permission",
        [staff.user_id],
    )
    client = browser_of(staff)
    assert client.get("/admin/holdfast/apikey/").status_code == 403
    assert client.get("/admin/auth/user/").status_code == 403
    assert client.get("/admin/otp_totp/totpdevice/").status_code == 404


def test_a_role_counts_in_its_own_organization_only(
    database_url: str, own: Sale, neighbour: Sale
) -> None:
    staff = hire(database_url, own, "owner")
    add_role(neighbour, staff.user_id, "viewer")
    client = browser_of(staff)
    assert client.get(ACTIONS["new key"][0](own)).status_code == 200
    assert client.get(ACTIONS["new key"][0](neighbour)).status_code == 403
    keys = page(client, "apikey/")
    assert str(id_of("apikey", own)) in keys
    assert str(id_of("apikey", neighbour)) not in keys
    holds = page(client, "hold/")
    assert str(id_of("hold", own)) in holds
    assert str(id_of("hold", neighbour)) in holds


def add_role(sale: Sale, user_id: int, role: str) -> None:
    sale.owner.execute(
        "INSERT INTO member (organization_id, id, user_id, role)"
        " VALUES (%s, gen_random_uuid(), %s, %s)",
        [sale.organization_id, user_id, role],
    )


def test_filters_and_suggestions_name_nobody_elses_organization(
    database_url: str, own: Sale, neighbour: Sale
) -> None:
    own.owner.execute(
        "UPDATE organization SET name = 'Rival Arena' WHERE id = %s", [neighbour.organization_id]
    )
    client = browser_of(hire(database_url, own, "owner"))
    chosen = {"organization__id__exact": str(neighbour.organization_id)}
    answer = client.get("/admin/holdfast/hold/", chosen, follow=True)
    assert "Rival Arena" not in answer.content.decode()
    lookup = {"app_label": "holdfast", "model_name": "hold", "field_name": "organization"}
    suggested = client.get("/admin/autocomplete/", {**lookup, "term": ""}).json()["results"]
    assert {UUID(each["id"]) for each in suggested} == {own.organization_id}
    blocks = client.get("/admin/holdfast/seat/", {"session_id": str(neighbour.session_id)})
    assert str(neighbour.block_id) not in blocks.content.decode()


def test_operators_of_the_installation_see_everything(
    operator: Client, own: Sale, neighbour: Sale
) -> None:
    for each in (own, neighbour):
        assert "New API key" in page(operator, f"organization/{each.organization_id}/change/")
    assert "relay" in page(operator, "fact/").lower()


def test_only_operators_see_the_relay_of_all_organizations(database_url: str, own: Sale) -> None:
    client = browser_of(hire(database_url, own, "owner"))
    assert "of every organization" not in page(client, "fact/")
    assert "of all organizations" not in page(client, "fact/")
