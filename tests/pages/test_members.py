"""Members in the admin: added, invited, changed and removed."""

import re
from typing import Any, cast
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client

from holdfast.bootstrap.accounts import BelongsToOrganization, ensure_admin
from tests.pages.conftest import log_in
from tests.pages.sales import Sale, new_sale, page
from tests.pages.staff import browser_of, hire
from tests.support.people import Staff

NEW_PASSWORD = "quite another password"
ACCEPT = "/admin/invitation/"


@pytest.fixture
def head(database_url: str, sale: Sale) -> Staff:
    return hire(database_url, sale, "owner")


@pytest.fixture
def owner(head: Staff) -> Client:
    return browser_of(head)


def added(client: Client, sale: Sale, **entered: Any) -> HttpResponse:
    form = {"username": f"new-{uuid4().hex[:8]}@example.com", "role": "support", **entered}
    path = f"/admin/holdfast/member/new/{sale.organization_id}/"
    return cast("HttpResponse", client.post(path, form))


def invitation_in(answer: HttpResponse) -> str:
    (path,) = re.findall(r"/admin/invitation/hi_[\w-]{43}/", answer.content.decode())
    return str(path)


def rows(sale: Sale) -> list[tuple[str, str]]:
    query = (
        "SELECT u.username, m.role FROM member m JOIN auth_user u ON u.id = m.user_id"
        " WHERE m.organization_id = %s ORDER BY m.created_at"
    )
    return sale.owner.execute(query, [sale.organization_id]).fetchall()


def other_side(sale: Sale) -> Sale:
    """The test side of its account."""
    other = new_sale(sale.owner)
    sale.owner.execute(
        "UPDATE organization SET mode = 'test', account_id = (SELECT account_id FROM organization"
        " WHERE id = %s) WHERE id = %s",
        [sale.organization_id, other.organization_id],
    )
    return other


def test_a_new_person_chooses_a_password_and_logs_in(owner: Client, sale: Sale) -> None:
    name = f"ann-{uuid4().hex[:8]}@example.com"
    path = invitation_in(added(owner, sale, username=name))
    assert log_in(name, NEW_PASSWORD).status_code == 200
    guest = Client(SERVER_NAME="localhost")
    assert guest.get(ACCEPT).status_code == 404
    shown = guest.get(path, follow=True)
    assert shown.redirect_chain == [(ACCEPT, 302)], "the secret stayed in the address"
    assert name in shown.content.decode()
    cookie = guest.cookies["holdfast_invitation"]
    assert (cookie["httponly"], cookie["path"]) == (True, ACCEPT)
    shorter = NEW_PASSWORD[:11]
    short = guest.post(ACCEPT, {"new_password1": shorter, "new_password2": shorter})
    assert "at least 12 characters" in short.content.decode()
    chosen = {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
    assert "Your password is set" in guest.post(ACCEPT, chosen).content.decode()
    assert log_in(name, NEW_PASSWORD).status_code == 302
    assert guest.get(path).status_code == 404, "an invitation worked twice"
    assert guest.post(ACCEPT, chosen).status_code == 404


def test_an_old_or_unknown_invitation_is_not_found(owner: Client, sale: Sale) -> None:
    path = invitation_in(added(owner, sale))
    sale.owner.execute("UPDATE person SET invited_until = now()")
    guest = Client(SERVER_NAME="localhost")
    assert guest.get(path).status_code == 404
    assert guest.get(f"/admin/invitation/hi_{'x' * 43}/").status_code == 404


@pytest.mark.parametrize("change", ["password = 'md5$x$y'", "is_superuser = true"])
def test_an_invitation_ends_when_the_account_gets_a_password_or_rights_otherwise(
    owner: Client, sale: Sale, change: str
) -> None:
    name = f"admin-{uuid4().hex[:8]}"
    path = invitation_in(added(owner, sale, username=name))
    query = f"UPDATE auth_user SET {change} WHERE username = %s"
    sale.owner.execute(query.encode(), [name])
    assert Client(SERVER_NAME="localhost").get(path).status_code == 404
    stored = "SELECT p.invitation_hash FROM person p JOIN auth_user u ON u.id = p.user_id"
    by_name = f"{stored} WHERE u.username = %s".encode()
    assert sale.owner.execute(by_name, [name]).fetchone() == (None,)


def test_an_operator_does_not_pick_up_an_invited_account(owner: Client, sale: Sale) -> None:
    """Whoever invited it may have the link."""
    name = f"admin-{uuid4().hex[:8]}"
    added(owner, sale, username=name)
    with pytest.raises(BelongsToOrganization):
        ensure_admin(name, NEW_PASSWORD)
    query = "SELECT is_superuser FROM auth_user WHERE username = %s"
    assert sale.owner.execute(query, [name]).fetchone() == (False,)


def test_somebody_elses_username_cannot_be_taken_over(
    owner: Client, sale: Sale, database_url: str
) -> None:
    stranger = hire(database_url, new_sale(sale.owner), "viewer")
    answer = added(owner, sale, username=stranger.username)
    assert "belongs to somebody outside your organization" in answer.content.decode()
    assert len(rows(sale)) == 1
    query = "SELECT invitation_hash FROM person WHERE user_id = %s"
    assert sale.owner.execute(query, [stranger.user_id]).fetchone() is None


def test_an_operator_adds_anybody(operator: Client, sale: Sale, database_url: str) -> None:
    stranger = hire(database_url, new_sale(sale.owner), "viewer")
    refused = added(operator, sale, username=stranger.username)
    assert "This account exists already" in refused.content.decode()
    assert rows(sale) == []
    done = added(operator, sale, username=stranger.username, existing="on")
    assert done.status_code == 302
    assert rows(sale) == [(stranger.username, "support")]


def test_only_operators_are_offered_to_add_existing_accounts(
    owner: Client, operator: Client, sale: Sale, database_url: str
) -> None:
    path = f"/admin/holdfast/member/new/{sale.organization_id}/"
    assert 'name="existing"' in operator.get(path).content.decode()
    assert 'name="existing"' not in owner.get(path).content.decode()
    stranger = hire(database_url, new_sale(sale.owner), "viewer")
    refused = added(owner, sale, username=stranger.username, existing="on")
    assert "belongs to somebody outside your organization" in refused.content.decode()


def test_a_member_of_the_other_side_is_added_without_an_invitation(
    owner: Client, sale: Sale, database_url: str
) -> None:
    """Test and live have separate members of one account."""
    colleague = hire(database_url, other_side(sale), "viewer")
    assert added(owner, sale, username=colleague.username).status_code == 302


def test_adding_a_pending_person_again_does_not_hand_over_the_account(
    owner: Client, sale: Sale, database_url: str
) -> None:
    """Whoever may add members to the test side would become an owner of the live one: with a new
    invitation, or with one that they kept until the live side adds the same person."""
    test = other_side(sale)
    tester = browser_of(hire(database_url, test, "owner"))
    for first, of_first, second, of_second in (
        (owner, sale, tester, test),
        (tester, test, owner, sale),
    ):
        name, before = f"boss-{uuid4().hex[:8]}@example.com", rows(of_second)
        path = invitation_in(added(first, of_first, username=name, role="owner"))
        refused = added(second, of_second, username=name, role="owner")
        assert "has not accepted an invitation" in refused.content.decode()
        assert rows(of_second) == before
        guest = Client(SERVER_NAME="localhost")
        guest.get(path, follow=True)
        chosen = {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
        assert "Your password is set" in guest.post(ACCEPT, chosen).content.decode()
        assert added(second, of_second, username=name).status_code == 302


def test_a_lost_invitation_is_replaced(owner: Client, sale: Sale) -> None:
    name = f"ann-{uuid4().hex[:8]}@example.com"
    lost = invitation_in(added(owner, sale, username=name))
    query = "SELECT m.id FROM member m JOIN auth_user u ON u.id = m.user_id WHERE u.username = %s"
    ((member_id,),) = sale.owner.execute(query, [name]).fetchall()
    assert owner.post(f"/admin/holdfast/member/{member_id}/remove/").status_code == 302
    path = invitation_in(added(owner, sale, username=name))
    guest = Client(SERVER_NAME="localhost")
    assert guest.get(path, follow=True).status_code == 200
    assert guest.get(lost).status_code == 404


def test_a_role_is_changed_and_a_member_removed(
    owner: Client, head: Staff, sale: Sale, database_url: str
) -> None:
    staff = hire(database_url, sale, "viewer")
    desk = browser_of(staff)
    path = f"/admin/holdfast/member/{staff.member_id}"
    assert desk.get("/admin/holdfast/auditentry/").status_code == 403
    assert owner.post(f"{path}/role/", {"role": "support"}).status_code == 302
    assert desk.get("/admin/holdfast/auditentry/").status_code == 200
    assert owner.post(f"{path}/remove/").status_code == 302
    assert desk.get("/admin/holdfast/hold/").status_code == 403
    assert rows(sale) == [(head.username, "owner")]
    query = "SELECT action, actor FROM audit WHERE organization_id = %s ORDER BY seq"
    actor = f"member:{head.user_id}"
    changes = sale.owner.execute(query, [sale.organization_id]).fetchall()
    assert [each for each in changes if each[0] in {"member.changed", "member.removed"}] == [
        ("member.changed", actor),
        ("member.removed", actor),
    ]


def test_owners_who_cannot_log_in_do_not_count(
    owner: Client, head: Staff, sale: Sale, database_url: str
) -> None:
    added(owner, sale, role="owner")
    left = hire(database_url, sale, "owner")
    sale.owner.execute("UPDATE auth_user SET is_active = false WHERE id = %s", [left.user_id])
    answer = owner.post(f"/admin/holdfast/member/{head.member_id}/remove/")
    assert "the only owner" in answer.content.decode()


def test_the_last_owner_stays(owner: Client, head: Staff, sale: Sale) -> None:
    path = f"/admin/holdfast/member/{head.member_id}"
    for answer in (
        owner.post(f"{path}/role/", {"role": "viewer"}),
        owner.post(f"{path}/remove/"),
    ):
        assert "the only owner" in answer.content.decode()
    assert rows(sale) == [(head.username, "owner")]


@pytest.mark.parametrize(
    ("entered", "problem"),
    [
        ({"username": ""}, "This field is required"),
        ({"username": "two words"}, "Enter a valid value"),
        ({"role": "boss"}, "not one of the available choices"),
        ({"email": "nobody"}, "Enter a valid email address"),
    ],
)
def test_wrong_input_adds_nobody(
    owner: Client, head: Staff, sale: Sale, entered: dict[str, str], problem: str
) -> None:
    assert problem in added(owner, sale, **entered).content.decode()
    assert rows(sale) == [(head.username, "owner")]


def test_a_member_twice_is_refused(owner: Client, head: Staff, sale: Sale) -> None:
    answer = added(owner, sale, username=head.username)
    assert "already a member" in answer.content.decode()


def test_the_page_of_a_member_shows_no_secrets(owner: Client, head: Staff, sale: Sale) -> None:
    shown = page(owner, f"member/{head.member_id}/change/")
    assert head.username in shown
    assert "pbkdf2" not in shown
