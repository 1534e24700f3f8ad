"""Passwords cannot be guessed for long, and an attacker cannot lock anybody out for good."""

from datetime import timedelta
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from holdfast.bootstrap.accounts import ensure_admin
from tests.pages.conftest import PASSWORD, log_in
from tests.pages.sales import Sale

FAILURES_MAX = 5
COOL_OFF = timedelta(minutes=10)
ELSEWHERE = "192.0.2.7"


@pytest.fixture
def person(sale: Sale) -> str:
    """A user who has not tried to log in yet."""
    name = f"person-{uuid4().hex[:8]}"
    ensure_admin(name, PASSWORD)
    return name


@pytest.fixture
def locked_out(person: str) -> str:
    """The same user, locked out by wrong passwords."""
    statuses = [log_in(person, "guess").status_code for _ in range(FAILURES_MAX)]
    assert statuses == [200] * (FAILURES_MAX - 1) + [429]
    return person


def rows_of(sale: Sale, person: str) -> int:
    query = "SELECT count(*) FROM axes_accessattempt WHERE username = %s"
    found = sale.owner.execute(query, [person]).fetchone()
    assert found is not None
    return int(found[0])


def let_pass(sale: Sale, person: str, time: timedelta) -> None:
    query = "UPDATE axes_accessattempt SET attempt_time = attempt_time - %s WHERE username = %s"
    sale.owner.execute(query, [time, person])


def test_five_wrong_passwords_lock_a_user_out(locked_out: str) -> None:
    answer = log_in(locked_out, PASSWORD)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "600")
    text = answer.content.decode()
    assert "Too many wrong passwords" in text
    assert "for 10 minutes" in text
    assert "holdfast_session" not in answer.cookies


def test_a_locked_out_user_can_log_in_from_another_address(locked_out: str) -> None:
    assert log_in(locked_out, PASSWORD, ELSEWHERE).status_code == 302
    assert log_in(locked_out, PASSWORD).status_code == 429


def test_another_user_can_log_in_from_the_same_address(locked_out: str) -> None:
    ensure_admin(other := f"other-{uuid4().hex[:8]}", PASSWORD)
    assert log_in(other, PASSWORD).status_code == 302


def test_a_lockout_ends_after_ten_minutes_despite_new_attempts(locked_out: str, sale: Sale) -> None:
    let_pass(sale, locked_out, COOL_OFF - timedelta(minutes=1))
    for _ in range(FAILURES_MAX):
        assert log_in(locked_out, "guess").status_code == 429
    let_pass(sale, locked_out, timedelta(minutes=1))
    assert log_in(locked_out, PASSWORD).status_code == 302


def test_a_log_in_clears_earlier_failures(person: str, sale: Sale) -> None:
    for _ in range(FAILURES_MAX - 1):
        log_in(person, "guess")
    assert log_in(person, PASSWORD).status_code == 302
    assert rows_of(sale, person) == 0


def test_upper_and_lower_case_are_the_same_name_and_share_their_failures(person: str) -> None:
    assert log_in(person.upper(), PASSWORD).status_code == 302
    spellings = (person, person.upper(), person.title(), person, person.upper())
    statuses = [log_in(name, "guess").status_code for name in spellings]
    assert statuses == [200] * (FAILURES_MAX - 1) + [429]


def test_a_dotted_capital_i_is_no_other_name(sale: Sale) -> None:
    """PostgreSQL and Python disagree about its lower case."""
    ensure_admin(name := f"imi-{uuid4().hex[:8]}", PASSWORD)
    spellings = (name, "\u0130" + name[1:], name[:2] + "\u0130" + name[3:], name, name)
    statuses = [log_in(each, "guess").status_code for each in spellings]
    assert statuses == [200] * (FAILURES_MAX - 1) + [429]


def test_accounts_that_differ_only_in_case_keep_their_exact_names(person: str, sale: Sale) -> None:
    """Such accounts can be older than the rule."""
    sale.owner.execute(
        "INSERT INTO auth_user (username, email, password, is_superuser, is_staff, is_active,"
        " first_name, last_name, date_joined)"
        " SELECT upper(username), '', 'unusable', false, true, true, '', '', now()"
        " FROM auth_user WHERE username = %s",
        [person],
    )
    assert log_in(person, PASSWORD).status_code == 302
    assert log_in(person.upper(), PASSWORD).status_code == 200
    assert log_in(person.title(), PASSWORD).status_code == 200, "neither of them"


def test_log_ins_of_operators_are_logged(person: str) -> None:
    """They belong to no organization, so the audit log has no place for them."""
    with capture_logs() as logs:
        log_in(person, "guess")
        log_in(person, PASSWORD)
    entries = [each for each in logs if "operator." in each["event"]]
    assert [each["event"] for each in entries] == ["operator.login_failed", "operator.logged_in"]
    assert {(each["username"], each["actor"]) for each in entries} == {
        (person, f"operator:{person}")
    }


def test_create_admin_unlocks_a_user(locked_out: str) -> None:
    ensure_admin(locked_out, PASSWORD)
    assert log_in(locked_out, PASSWORD).status_code == 302


def test_recorded_failures_do_not_pile_up(locked_out: str, sale: Sale) -> None:
    """A lockout adds no rows, and the next failure deletes old ones."""
    assert rows_of(sale, locked_out) == 1
    let_pass(sale, locked_out, COOL_OFF + timedelta(minutes=1))
    log_in(f"nobody-{uuid4().hex[:8]}", "guess")
    assert rows_of(sale, locked_out) == 0
