"""Two-factor authentication: turned on and off, and needed to log in."""

import re
import time
from typing import cast

import pytest
from django.http import HttpResponse
from django.test import Client
from django_otp.oath import TOTP

from tests.pages.conftest import log_in
from tests.pages.sales import Sale
from tests.pages.staff import browser_of, hire
from tests.support.people import PASSWORD, Staff

ON, OFF = "/admin/account/two-factor/", "/admin/account/two-factor/off/"


@pytest.fixture
def staff(database_url: str, sale: Sale) -> Staff:
    return hire(database_url, sale, "support")


def code_of(sale: Sale, staff: Staff, steps: int = 0) -> str:
    """The code that the app shows, or showed `steps` half minutes ago."""
    query = "SELECT key FROM otp_totp_totpdevice WHERE user_id = %s"
    row = sale.owner.execute(query, [staff.user_id]).fetchone()
    assert row is not None
    app = TOTP(bytes.fromhex(row[0]))
    app.time = time.time() - 30 * steps
    return f"{app.token():06}"


def turned_on(sale: Sale, staff: Staff) -> tuple[Client, list[str]]:
    """A browser of somebody who has just turned it on, and the backup codes."""
    browser = browser_of(staff)
    assert "<svg" in browser.get(ON).content.decode()
    done = browser.post(ON, {"otp_token": code_of(sale, staff, steps=1)})
    codes = re.findall(r">([a-z]{5}-[a-z]{5})<", done.content.decode())
    assert len(set(codes)) == 10
    return browser, codes


def forget_pauses(sale: Sale) -> None:
    for table in ("otp_totp_totpdevice", "otp_static_staticdevice"):
        sale.owner.execute(f"UPDATE {table} SET throttling_failure_count = 0".encode())


def entered(staff: Staff, code: str, password: str = PASSWORD) -> HttpResponse:
    client = Client(SERVER_NAME="localhost")
    form = {"username": staff.username, "password": password, "otp_token": code}
    return cast("HttpResponse", client.post("/admin/login/?next=/admin/", form))


def test_members_without_it_can_only_set_it_up_if_it_is_required(sale: Sale, staff: Staff) -> None:
    browser = browser_of(staff)
    assert browser.get("/admin/holdfast/hold/").status_code == 200
    strict = "UPDATE organization SET two_factor_required = %s WHERE id = %s"
    sale.owner.execute(strict, [True, sale.organization_id])
    try:
        assert browser.get("/admin/holdfast/hold/").status_code == 403
        account = browser.get("/admin/account/").content.decode()
        front = browser.get("/admin/").content.decode()
        for page in (account, front):
            assert "Your organization requires two-factor authentication" in page
            assert "not a member" not in page
        assert f'href="{ON}"' in front
        done, _ = turned_on(sale, staff)
        assert done.get("/admin/holdfast/hold/").status_code == 200
    finally:
        sale.owner.execute(strict, [None, sale.organization_id])


def test_the_code_is_needed_and_works_once(sale: Sale, staff: Staff) -> None:
    assert log_in(staff.username, PASSWORD).status_code == 302
    turned_on(sale, staff)
    without = log_in(staff.username, PASSWORD)
    assert without.status_code == 200
    assert "Please enter the correct username and password" in without.content.decode()
    forget_pauses(sale)
    code = code_of(sale, staff)
    assert entered(staff, code, "wrong").status_code == 200
    assert entered(staff, code).status_code == 302
    assert entered(staff, code).status_code == 200, "a code was accepted twice"


def test_the_code_that_turned_it_on_is_used_up(sale: Sale, staff: Staff) -> None:
    browser = browser_of(staff)
    browser.get(ON)
    code = code_of(sale, staff)
    browser.post(ON, {"otp_token": code})
    assert entered(staff, code).status_code == 200


def test_a_wrong_code_makes_the_next_one_wait(sale: Sale, staff: Staff) -> None:
    turned_on(sale, staff)
    assert entered(staff, "000000").status_code == 200
    # The tenth failure, so that the pause is longer than a busy machine takes.
    raise_count = (
        "UPDATE otp_totp_totpdevice SET throttling_failure_count = 10"
        " WHERE throttling_failure_count = 1 AND user_id = %s"
    )
    assert sale.owner.execute(raise_count, [staff.user_id]).rowcount == 1
    right = code_of(sale, staff)
    assert entered(staff, right).status_code == 200, "it was checked without a pause"
    forget_pauses(sale)
    assert entered(staff, right).status_code == 302


def test_wrong_codes_lock_out_like_wrong_passwords(sale: Sale, staff: Staff) -> None:
    turned_on(sale, staff)
    statuses = [entered(staff, "000000").status_code for _ in range(5)]
    assert statuses == [200] * 4 + [429]
    forget_pauses(sale)
    assert entered(staff, code_of(sale, staff)).status_code == 429


def test_a_backup_code_works_once(sale: Sale, staff: Staff) -> None:
    browser, codes = turned_on(sale, staff)
    assert "10 backup codes left" in browser.get("/admin/account/").content.decode()
    assert entered(staff, codes[0]).status_code == 302
    assert entered(staff, codes[0]).status_code == 200
    forget_pauses(sale)
    assert entered(staff, codes[1].upper()).status_code == 302
    assert "8 backup codes left" in browser.get("/admin/account/").content.decode()


def test_a_wrong_code_does_not_turn_it_on(sale: Sale, staff: Staff) -> None:
    browser = browser_of(staff)
    browser.get(ON)
    refused = browser.post(ON, {"otp_token": "000000"})
    assert "wrong or too old" in refused.content.decode()
    assert log_in(staff.username, PASSWORD).status_code == 302


def test_turning_it_off_needs_the_password_and_a_code(sale: Sale, staff: Staff) -> None:
    browser, codes = turned_on(sale, staff)
    for password, code in (("wrong", codes[0]), (PASSWORD, "wrong-codes")):
        refused = browser.post(OFF, {"password": password, "otp_token": code})
        assert "The password or the code is wrong" in refused.content.decode()
    forget_pauses(sale)
    done = browser.post(OFF, {"password": PASSWORD, "otp_token": codes[0]})
    assert (done.status_code, done.headers["Location"]) == (302, "/admin/account/")
    assert log_in(staff.username, PASSWORD).status_code == 302


def test_an_operator_helps_somebody_who_lost_everything(
    operator: Client, sale: Sale, staff: Staff
) -> None:
    turned_on(sale, staff)
    path = f"/admin/auth/user/{staff.user_id}/two-factor/"
    assert browser_of(staff).post(path).status_code == 403
    assert operator.post(path).status_code == 302
    assert log_in(staff.username, PASSWORD).status_code == 302


def test_it_is_audited(sale: Sale, staff: Staff) -> None:
    browser, codes = turned_on(sale, staff)
    browser.post(OFF, {"password": PASSWORD, "otp_token": codes[0]})
    query = "SELECT action, actor, new::text FROM audit WHERE organization_id = %s ORDER BY seq"
    rows = sale.owner.execute(query, [sale.organization_id]).fetchall()
    actions = [action for action, _, _ in rows if action.startswith("member.two_factor")]
    assert actions == ["member.two_factor_on", "member.two_factor_off"]
    assert {actor for _, actor, _ in rows} == {f"member:{staff.user_id}"}
    assert not any(code.replace("-", "") in str(rows) for code in codes)
