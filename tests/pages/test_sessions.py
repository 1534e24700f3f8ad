"""Where people are logged in, and ending that at once."""

import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client

from holdfast.adapters.postgres.access.sessions import PostgresMemberSessions
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.access.members import FAILURES_NOTED_MAX
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import MemberSessionId, OrganizationId
from holdfast.ports.members import Credentials, NewSession, Person, Refused
from tests.pages.conftest import log_in
from tests.pages.sales import Sale, new_sale, page
from tests.pages.staff import browser_of, hire
from tests.support.people import PASSWORD, Staff

ACCOUNT = "/admin/account/"
PHONE = "Mozilla/5.0 (Linux; Android 15) Chrome/140.0 Mobile Safari/537.36"


@pytest.fixture
def staff(database_url: str, sale: Sale) -> Staff:
    return hire(database_url, sale, "support")


def ends_of(browser: Client) -> list[str]:
    """The addresses of its buttons to end another session."""
    text = browser.get(ACCOUNT).content.decode()
    return re.findall(r'action="(/admin/account/sessions/[0-9a-f-]{36}/end/)"', text)


def is_logged_in(browser: Client) -> bool:
    return bool(browser.get(ACCOUNT).status_code == 200)


def actions_of(sale: Sale) -> list[str]:
    query = "SELECT action FROM audit WHERE organization_id = %s ORDER BY seq"
    return [row[0] for row in sale.owner.execute(query, [sale.organization_id])]


def joins(sale: Sale, staff: Staff) -> None:
    query = "INSERT INTO member (organization_id, id, user_id, role) VALUES (%s, %s, %s, 'viewer')"
    sale.owner.execute(query, [sale.organization_id, uuid4(), staff.user_id])


def open_on_api(sale: Sale) -> int:
    query = "SELECT count(*) FROM member_session WHERE organization_id = %s"
    ((count,),) = sale.owner.execute(query, [sale.organization_id]).fetchall()
    return int(count)


def signed_in_on_api(database: Database, sale: Sale, staff: Staff, agent: str = "curl/8.0") -> UUID:
    own, session_id = OrganizationId(sale.organization_id), MemberSessionId(uuid4())
    new = NewSession(session_id, own, staff.user_id, uuid4().bytes)
    origin = Origin(f"member:{staff.user_id}", "request-1", "192.0.2.9", agent)
    assert PostgresMemberSessions(database).open(new, origin) is not None
    return session_id


def test_a_person_sees_their_own_sessions(
    database_url: str, database: Database, sale: Sale, staff: Staff
) -> None:
    desk, phone = browser_of(staff), browser_of(staff, PHONE)
    phone.get(ACCOUNT)
    browser_of(hire(database_url, sale, "owner"), "Somebody/1.0").get(ACCOUNT)
    signed_in_on_api(database, sale, staff)
    text = desk.get(ACCOUNT).content.decode()
    assert "Firefox on Linux" in text
    assert "Chrome on Android" in text
    assert "192.0.2.9" in text
    assert "127.0.0.1" in text
    assert text.count("(this one)") == 1
    assert "Somebody" not in text
    assert len(ends_of(desk)) == 2


def test_an_ended_session_is_out_at_once(sale: Sale, staff: Staff) -> None:
    desk, phone = browser_of(staff), browser_of(staff, PHONE)
    assert is_logged_in(phone)
    (end,) = ends_of(desk)
    assert desk.post(end).status_code == 302
    assert not is_logged_in(phone)
    assert is_logged_in(desk)
    assert desk.post(end).status_code == 404
    assert "member.session_ended" in actions_of(sale)


def test_a_session_on_the_api_can_be_ended(database: Database, sale: Sale, staff: Staff) -> None:
    session_id = signed_in_on_api(database, sale, staff)
    desk = browser_of(staff)
    assert desk.post(f"/admin/account/sessions/{session_id}/end/").status_code == 302
    query = "SELECT count(*) FROM member_session WHERE id = %s"
    assert sale.owner.execute(query, [session_id]).fetchone() == (0,)


def test_all_others_can_be_ended(sale: Sale, staff: Staff) -> None:
    desk, others = browser_of(staff), [browser_of(staff, PHONE) for _ in range(3)]
    assert desk.post("/admin/account/sessions/end/").status_code == 302
    assert is_logged_in(desk)
    assert not any(is_logged_in(each) for each in others)


def test_nobody_ends_a_strangers_session(database_url: str, sale: Sale, staff: Staff) -> None:
    desk, phone = browser_of(staff), browser_of(staff, PHONE)
    phone.get(ACCOUNT)
    (end,) = ends_of(desk)
    stranger = browser_of(hire(database_url, sale, "owner"))
    assert stranger.post(end).status_code == 404
    assert is_logged_in(phone)
    assert Client(SERVER_NAME="localhost").post(end).status_code == 302


def test_an_owner_ends_the_sessions_of_a_member(
    database_url: str, database: Database, sale: Sale, staff: Staff
) -> None:
    """Only those of this organization; what the person does elsewhere is not its business."""
    desk, elsewhere = browser_of(staff), new_sale(sale.owner)
    desk.get(ACCOUNT)
    joins(elsewhere, staff)
    signed_in_on_api(database, sale, staff)
    signed_in_on_api(database, elsewhere, staff, "elsewhere/1.0")
    owner = browser_of(hire(database_url, sale, "owner"))
    shown = page(owner, f"member/{staff.member_id}/change/")
    assert "curl/8.0" in shown
    assert "elsewhere" not in shown
    assert "Firefox on Linux" not in shown
    path = f"/admin/holdfast/member/{staff.member_id}/sessions/"
    assert "signed out" in owner.get(path).content.decode()
    assert open_on_api(sale) == 1
    assert owner.post(path).status_code == 302
    assert (open_on_api(sale), open_on_api(elsewhere)) == (0, 1)
    assert is_logged_in(desk)
    assert "member.session_ended" in actions_of(sale)
    assert "member.session_ended" not in actions_of(elsewhere)


def test_an_operator_ends_anybodys_sessions(operator: Client, staff: Staff) -> None:
    desk = browser_of(staff)
    assert operator.post(f"/admin/auth/user/{staff.user_id}/sessions/").status_code == 302
    assert not is_logged_in(desk)
    assert desk.post(f"/admin/auth/user/{staff.user_id}/sessions/").status_code == 302  # log in


def test_a_deactivated_person_is_out_at_once(sale: Sale, staff: Staff) -> None:
    desk = browser_of(staff)
    sale.owner.execute("UPDATE auth_user SET is_active = false WHERE id = %s", [staff.user_id])
    assert not is_logged_in(desk)


def test_log_ins_are_audited(sale: Sale, staff: Staff) -> None:
    log_in(staff.username, "guess")
    log_in(f"nobody-{uuid4()}", "guess")
    assert log_in(staff.username, PASSWORD).status_code == 302
    browser_of(staff).post("/admin/logout/")
    assert [each for each in actions_of(sale) if each.startswith("member.log")] == [
        *("member.login_failed", "member.logged_in", "member.logged_in", "member.logged_out"),
    ]


def failures_noted(sale: Sale) -> int:
    return actions_of(sale).count("member.login_failed")


def test_a_locked_out_stranger_writes_nothing(sale: Sale, staff: Staff) -> None:
    for _ in range(8):
        log_in(staff.username, "guess")
    assert failures_noted(sale) == 5


def test_many_addresses_do_not_fill_the_audit(sale: Sale, staff: Staff) -> None:
    for n in range(FAILURES_NOTED_MAX + 5):
        log_in(staff.username, "guess", f"192.0.2.{n}")
    assert failures_noted(sale) == FAILURES_NOTED_MAX


def guess(sale: Sale, staff: Staff, password: str) -> Person | Refused:
    # Imports models, so Django has to be set up.
    from holdfast.adapters.postgres.access.passwords import DjangoPasswords

    own = OrganizationId(sale.organization_id)
    given = Credentials(own, staff.username, password, "")
    return DjangoPasswords().check(given, "192.0.2.9", "curl/8.0")


def test_a_guess_at_the_wrong_organization_counts(sale: Sale, staff: Staff) -> None:
    """Otherwise passwords could be tried out unseen, and without end."""
    elsewhere = new_sale(sale.owner)
    for password in ("guess", PASSWORD, "guess", PASSWORD):
        refused = guess(elsewhere, staff, password)
        assert isinstance(refused, Refused)
        assert refused.retry_seconds is None
        assert refused.person is not None
        assert refused.person.organization_ids == (sale.organization_id,)
    refused = guess(elsewhere, staff, PASSWORD)
    assert isinstance(refused, Refused)
    assert refused.retry_seconds is not None
    assert refused.person is not None, "the lock-out itself is noted"
    after = guess(sale, staff, PASSWORD)
    assert isinstance(after, Refused)
    assert after.person is None


def expire_date(sale: Sale, staff: Staff) -> Any:
    query = "SELECT expire_date, last_seen_at FROM login_session WHERE user_id = %s"
    return sale.owner.execute(query, [staff.user_id]).fetchone()


def test_being_seen_does_not_prolong_a_session(sale: Sale, staff: Staff) -> None:
    desk = browser_of(staff)
    desk.get(ACCOUNT)
    before = expire_date(sale, staff)
    query = "UPDATE login_session SET last_seen_at = last_seen_at - interval '2 minutes'"
    sale.owner.execute(query.encode())
    desk.get(ACCOUNT)
    after = expire_date(sale, staff)
    assert after[0] == before[0]
    assert after[1] >= before[1]
