"""`holdfast holds`, as an operator uses it."""

import json
from collections.abc import Iterator
from datetime import timedelta
from getpass import getuser
from uuid import uuid4

import pytest

from holdfast.domain.holds.hold import Hold
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.values import EmailAddress, Holder
from holdfast.engine import Admission
from holdfast.entrypoints.cli.main import main
from holdfast.entrypoints.cli.terminal import CommandFailed
from tests.contract.asking import placed, waiting
from tests.contract.venues import STRANGER, Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import assert_sound, rows
from tests.support.patience import PATIENT
from tests.workers.operator import Operator

ANN = Holder(EmailAddress("ann@example.com"), "user-1")
PLAN = Plan(
    {"floor": 3},
    {"Standing": ("floor",)},
    HoldPolicy(600, lifetime_max_seconds=600, waitlist=True),
    Hall({"Parterre": {"A": 4}}, {"Adult": ()}),
)
BECAUSE = ("--reason", "buyer called")


@pytest.fixture
def engine(world: PostgresWorld) -> Iterator[Admission]:
    running = Admission(world.store, PATIENT)
    running.start()
    yield running
    running.stop()


@pytest.fixture
def operator(world: PostgresWorld, capsys: pytest.CaptureFixture[str]) -> Operator:
    return Operator(world.url, capsys)


@pytest.fixture
def venue(world: PostgresWorld) -> Venue:
    return world.build(PLAN)


@pytest.fixture
def hold(engine: Admission, venue: Venue) -> Hold:
    asks = (venue.these("Parterre A 1", "Parterre A 2"), ("Standing", 3))
    return placed(engine, venue.place(*asks, holder=ANN))


def audited(world: PostgresWorld, hold: Hold) -> tuple[str, str, str, str]:
    query = (
        "SELECT action, actor, acting_user, new ->> 'reason' FROM audit"
        f" WHERE hold_id = '{hold.id}' AND seat_id IS NULL ORDER BY seq DESC LIMIT 1"
    )
    return tuple(rows(world.url, query)[0])


def test_a_hold_is_shown_by_reference_and_by_id(
    world: PostgresWorld, operator: Operator, hold: Hold
) -> None:
    shown = operator.says("holds", "show", hold.reference.lower())
    assert shown == operator.says("holds", "show", str(hold.id))
    lines = dict(line.split(maxsplit=1) for line in shown.splitlines())
    assert lines["reference"] == hold.reference
    assert lines["status"] == "active"
    assert lines["places"] == "2 seat(s) in Parterre, 3 ticket(s)"
    assert lines["holder"] == "a***@example.com user-1"
    assert lines["total"] == "225.00 EUR"
    assert lines["expires_at"] == f"{hold.expires_at:%Y-%m-%d %H:%M:%S}Z"
    assert "ann@example.com" not in shown


def test_json_is_what_the_api_shows(operator: Operator, hold: Hold) -> None:
    text = operator.says("holds", "show", hold.reference, "--json")
    shown = json.loads(text)
    assert (shown["hold_id"], shown["status"], shown["version"]) == (str(hold.id), "active", 1)
    assert "ann@example.com" not in text


def test_a_hold_is_extended_beyond_its_policy(
    world: PostgresWorld, operator: Operator, venue: Venue, hold: Hold
) -> None:
    words = ("holds", "extend", hold.reference, "--minutes", "30", *BECAUSE)
    shown = json.loads(operator.says(*words, "--json"))
    after = world.hold(venue, hold.id)
    assert after.expires_at == hold.expires_at + timedelta(minutes=30)
    assert shown["expires_at"] == f"{after.expires_at:%Y-%m-%dT%H:%M:%S}Z"
    assert audited(world, hold) == ("hold.extended", "operator", getuser(), "buyer called")


def test_a_hold_is_released_and_the_next_party_gets_its_places(
    world: PostgresWorld, engine: Admission, operator: Operator, venue: Venue, hold: Hold
) -> None:
    party = waiting(engine, venue.place(("Standing", 1), holder=STRANGER))
    shown = operator.says("holds", "release", hold.reference, *BECAUSE, "--yes")
    assert "cancelled" in shown
    assert world.hold(venue, hold.id).is_cancelled()
    assert world.hold(venue, party.id).occupies_places()
    assert audited(world, hold) == ("hold.cancelled", "operator", getuser(), "buyer called")


def test_a_party_is_removed_from_the_waitlist(
    world: PostgresWorld, engine: Admission, operator: Operator, venue: Venue, hold: Hold
) -> None:
    party = waiting(engine, venue.place(("Standing", 1), holder=STRANGER))
    shown = operator.says("holds", "show", party.reference)
    assert "position     1" in shown
    operator.says("holds", "release", party.reference, *BECAUSE, "--yes")
    assert world.hold(venue, party.id).is_cancelled()


def test_refusals_and_unknown_holds_change_nothing(
    world: PostgresWorld,
    engine: Admission,
    operator: Operator,
    hold: Hold,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    extend = ("--minutes", "5", *BECAUSE)
    other = ("--organization", str(uuid4()))
    for words, problem in (
        (("show", "NOSUCH"), "there is no hold with this reference or id"),
        (("show", str(uuid4())), "there is no hold with this reference or id"),
        (("show", hold.reference, *other), "there is no hold with this reference or id"),
        (("extend", "NOSUCH", *extend), "there is no hold with this reference or id"),
        (("release", hold.reference, *BECAUSE), "pass --yes to confirm"),
    ):
        with pytest.raises(CommandFailed, match=problem):
            operator.says("holds", *words)
    operator.says("holds", "release", hold.reference, *BECAUSE, "--yes")
    for again in (
        ("release", hold.reference, *BECAUSE, "--yes"),
        ("extend", str(hold.id), *extend),
    ):
        with pytest.raises(CommandFailed, match=r"cancelled .* \(invalid_hold_state\)"):
            operator.says("holds", *again)


def test_an_expired_hold_cannot_be_extended(
    world: PostgresWorld, operator: Operator, venue: Venue, hold: Hold
) -> None:
    world.let_pass(venue, 601)
    with pytest.raises(CommandFailed, match=r"has expired \(hold_expired\)"):
        operator.says("holds", "extend", hold.reference, "--minutes", "5", *BECAUSE)
    assert "expired" in operator.says("holds", "show", hold.reference)


def test_if_two_organizations_have_such_a_hold_one_has_to_be_named(
    world: PostgresWorld, engine: Admission, operator: Operator, hold: Hold
) -> None:
    other = world.build(PLAN)
    twin = placed(engine, other.place(("Standing", 1), hold_id=hold.id, holder=STRANGER))
    with pytest.raises(CommandFailed, match="Pass --organization") as failed:
        operator.says("holds", "show", str(hold.id))
    for each in (hold, twin):
        assert str(each.organization_id) in str(failed.value)
    named = ("--organization", str(other.organization_id))
    operator.says("holds", "release", str(hold.id), *named, *BECAUSE, "--yes")
    assert world.hold(other, twin.id).is_cancelled()
    assert "active" in operator.says(
        "holds", "show", str(hold.id), "--organization", str(hold.organization_id)
    )


def test_a_hold_that_changes_before_the_yes_is_not_released(
    world: PostgresWorld,
    operator: Operator,
    venue: Venue,
    hold: Hold,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def meanwhile(_: str) -> str:
        operator.says("holds", "extend", hold.reference, "--minutes", "1", *BECAUSE)
        return "y"

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", meanwhile)
    with pytest.raises(CommandFailed, match="hold_changed"):
        operator.says("holds", "release", hold.reference, *BECAUSE)
    assert world.hold(venue, hold.id).occupies_places()
    refused = "SELECT new ->> 'error' FROM audit WHERE action = 'hold.release_failed'"
    assert rows(world.url, refused) == [("hold_changed",)]
    assert_sound(world.url)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "ACTION"),
        (("extend", "K7M2QX", *BECAUSE), "--minutes"),
        (("extend", "K7M2QX", "--minutes", "5"), "--reason"),
        (("extend", "K7M2QX", "--minutes", "0", *BECAUSE), "from 1 to 10080"),
        (("extend", "K7M2QX", "--minutes", "soon", *BECAUSE), "from 1 to 10080"),
        (("release", "K7M2QX"), "--reason"),
        (("release", "K7M2QX", "--reason", " "), "a reason must be"),
        (("show", "K7M2QX", "--organization", "7"), "must be an id"),
    ],
)
def test_wrong_usage_is_explained(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(("holds", *words))
    assert ended.value.code == 2
    assert problem in capsys.readouterr().err
