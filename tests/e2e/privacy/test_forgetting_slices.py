"""Forgetting a person in slices: what one may take, what is recorded of it, and what may happen
between two of them. The store works in this process, beside the server's."""

from collections.abc import Iterator, Sequence
from uuid import UUID, uuid4

import pytest

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.privacy import forgetting
from holdfast.adapters.postgres.privacy.forgetting import PostgresForgetting
from holdfast.bootstrap.privacy.addresses import addresses_of
from holdfast.bootstrap.settings import Settings
from holdfast.domain.forgetting import Forgotten
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import EmailAddress
from holdfast.ports.privacy.addresses import SecretMissing
from holdfast.ports.store import StoreUnavailable
from holdfast.services.forgetting import Eraser
from tests.e2e.answers import problem_of
from tests.e2e.owner import Owner
from tests.e2e.paying import confirmed, held, keyed, ok, post, read
from tests.e2e.privacy.test_forgetting import forget, released
from tests.support.platform import Hall, Json, Platform
from tests.support.servers import INSTALLATION_SECRET, RunningServer

ADDRESSES = addresses_of(Settings(holdfast_secret_key=INSTALLATION_SECRET))
ORIGIN = Origin(actor="operator", request_id="request-1")
ENTRIES = """
INSERT INTO audit (organization_id, at, action, hold_id, actor, request_id, ip, new)
SELECT a.organization_id, a.at, a.action, a.hold_id, a.actor, a.request_id, '192.0.2.1', '{}'
FROM audit a, generate_series(1, %s) WHERE a.organization_id = %s AND a.action = 'hold.created'
"""


@pytest.fixture
def email() -> str:
    return f"ada-{uuid4().hex[:8]}@example.com"


@pytest.fixture
def database(server: RunningServer) -> Iterator[Database]:
    database = Database(server.database_url, connections_max=1)
    database.open()
    yield database
    database.close()


def erased_by(store: PostgresForgetting, platform: Platform, email: str) -> Forgotten | Refusal:
    own = OrganizationId(UUID(platform.organization_id))
    outcome = Eraser(store, own, ORIGIN).forget(EmailAddress(email)).outcome
    assert outcome is not None
    return outcome


def entries(platform: Platform) -> list[Json]:
    found = read(platform, "/api/audit", action="person.forgotten", limit=100)
    return [each["new"] for each in found["data"]]


def test_a_key_that_was_used_for_somebody_else_erases_nobody(
    platform: Platform, email: str
) -> None:
    sale, other = platform.on_sale(5), f"other-{email}"
    for address in (email, other):
        released(platform, held(platform, sale, customer_email=address))
    key = keyed()
    forget(platform, email, key)
    answer = post(platform, "/api/forget", {"customer_email": other}, key)
    problem_of(answer, 422, "idempotency_key_reused")
    assert len(read(platform, "/api/holds", customer_email=other)["data"]) == 1
    assert len(entries(platform)) == 1


def test_a_replay_erases_nothing(platform: Platform, email: str) -> None:
    sale, key = platform.on_sale(5), keyed()
    released(platform, held(platform, sale, customer_email=email))
    first = forget(platform, email, key)
    released(platform, held(platform, sale, customer_email=email))
    assert forget(platform, email, key) == first
    assert len(read(platform, "/api/holds", customer_email=email)["data"]) == 1


def test_an_incomplete_answer_is_continued_with_the_same_key(
    platform: Platform, owner: Owner, email: str
) -> None:
    released(platform, held(platform, platform.on_sale(5), customer_email=email))
    owner.run(ENTRIES, 21 * forgetting.ROWS_MAX, platform.organization_id)
    key = keyed()
    first, second = (forget(platform, email, key) for _ in range(2))
    assert (first["is_complete"], first["holds"]) == (False, 0)
    assert (second["is_complete"], second["holds"]) == (True, 1)
    assert forget(platform, email, key) == second
    counts = [entry["audit_entries"] for entry in entries(platform)]
    assert max(counts) <= forgetting.ROWS_MAX
    assert sum(counts) == first["audit_entries"] + second["audit_entries"]


def test_a_failure_leaves_the_entries_of_what_was_erased(
    platform: Platform, owner: Owner, database: Database, email: str
) -> None:
    class Failing(PostgresForgetting):
        slices = 0

        def forget_some(self, *arguments: object) -> Forgotten:
            self.slices += 1
            if self.slices == 2:
                raise StoreUnavailable
            return super().forget_some(*arguments)  # type: ignore[arg-type]

    released(platform, held(platform, platform.on_sale(5), customer_email=email))
    outcome = erased_by(Failing(database, ADDRESSES), platform, email)
    assert isinstance(outcome, Refusal)
    assert [entry["holds"] for entry in entries(platform)] == [1]


class Meanwhile(PostgresForgetting):
    """Somebody takes a seat after the person was found to have no open holds."""

    platform: Platform
    body: Json

    def open_holds(self, organization_id: OrganizationId, email: EmailAddress) -> Sequence[HoldId]:
        found = super().open_holds(organization_id, email)
        assert not found
        self.platform.made("/api/holds", self.body)
        return found


def placed_meanwhile(
    platform: Platform, owner: Owner, database: Database, email: str
) -> tuple[Forgotten | Refusal, list[tuple[object, ...]], bool]:
    """The outcome, whether the open holds have an address, and whether their seat has changed."""
    hall: Hall = platform.hall(1, 4)
    body = {"session_id": hall.session_id, "seat_ids": hall.seat_ids[:1], "customer_email": email}
    keys = "SELECT holder_key FROM seat WHERE session_id = %s AND status = 'held'"
    hold = platform.made("/api/holds", body)
    before = owner.rows(keys, hall.session_id)
    released(platform, hold)
    store = Meanwhile(database, ADDRESSES)
    store.platform, store.body = platform, body
    outcome = erased_by(store, platform, email)
    has_address = owner.rows(
        "SELECT email_key IS NOT NULL FROM hold WHERE organization_id = %s AND status = 'active'",
        platform.organization_id,
    )
    return outcome, has_address, owner.rows(keys, hall.session_id) != before


def test_a_hold_placed_meanwhile_keeps_its_holder(
    platform: Platform, owner: Owner, database: Database, email: str
) -> None:
    outcome, has_address, is_seat_changed = placed_meanwhile(platform, owner, database, email)
    assert isinstance(outcome, Forgotten)
    assert (outcome.holds, outcome.is_complete) == (1, False)
    assert has_address == [(True,)]
    assert not is_seat_changed


def test_without_the_condition_an_open_hold_loses_its_holder(
    platform: Platform,
    owner: Owner,
    database: Database,
    email: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The control of the test above and of the race in test_forgetting."""
    condition = " AND status NOT IN ('waiting', 'active')"
    assert condition in forgetting._ENDED
    monkeypatch.setattr(forgetting, "_ENDED", forgetting._ENDED.replace(condition, ""))
    _, has_address, is_seat_changed = placed_meanwhile(platform, owner, database, email)
    assert has_address == [(False,)]
    assert is_seat_changed


def test_a_store_with_another_secret_erases_nothing(
    platform: Platform, database: Database, email: str
) -> None:
    released(platform, held(platform, platform.on_sale(5), customer_email=email))
    blind = PostgresForgetting(database, addresses_of(Settings()))
    with pytest.raises(SecretMissing):
        blind.refuse_missing_secrets(OrganizationId(UUID(platform.organization_id)))
    outcome = erased_by(blind, platform, email)
    assert isinstance(outcome, Refusal)
    assert outcome.code is RefusalCode.INTERNAL_ERROR
    assert entries(platform) == []


def test_the_seats_and_attendees_of_a_large_order_are_erased_in_several_slices(
    platform: Platform,
    owner: Owner,
    email: str,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("_SEATS", "_ENTRIES", "_TICKETS_OF_ORDERS"):
        statement = getattr(forgetting, name)
        few = statement.replace(str(forgetting.ROWS_MAX), "2")
        assert few != statement
        monkeypatch.setattr(forgetting, name, few)
    hall = platform.hall(1, 5)
    body = {"session_id": hall.session_id, "seat_ids": hall.seat_ids, "customer_email": email}
    attendees = [{"name": f"Guest {number}"} for number in range(5)]
    hold = platform.made("/api/holds", body)
    ok(confirmed(platform, hold, attendees=attendees))
    versions = "SELECT version FROM hold WHERE organization_id = %s"
    ((before,),) = owner.rows(versions, platform.organization_id)
    outcome = erased_by(PostgresForgetting(database, ADDRESSES), platform, email)
    assert isinstance(outcome, Forgotten)
    assert (outcome.holds, outcome.orders, outcome.tickets) == (1, 1, 5)
    assert outcome.is_complete
    assert len(entries(platform)) >= 3
    # Facts and audit entries continue it.
    assert owner.rows(versions, platform.organization_id) == [(before,)]
    keys = "SELECT count(DISTINCT holder_key) FROM seat WHERE session_id = %s"
    assert owner.rows(keys, hall.session_id) == [(1,)]
