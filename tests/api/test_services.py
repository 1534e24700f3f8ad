"""The use cases, without HTTP."""

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from uuid import UUID, uuid4

import pytest
from cryptography.exceptions import InvalidTag

from holdfast.domain.access.scopes import ALL_SCOPES, Mode
from holdfast.domain.catalog.changes import ChangeEvent, CreateTicketType
from holdfast.domain.catalog.model import ALWAYS_ON_SALE as SALE
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Promoted
from holdfast.domain.ids import ApiKeyId, HoldId, OrganizationId, SessionId
from holdfast.domain.policy import PolicyChange, PolicyOverride
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.refusals import service_unavailable
from holdfast.domain.waitlist.promote_waiting import PromoteWaiting
from holdfast.entrypoints.api.http.idempotency import repeat_key_text
from holdfast.ports.access import Principal
from holdfast.ports.engine import Answer, Render
from holdfast.ports.holds import SeenHold
from holdfast.ports.store import Rejected, StoreError, StoreUnavailable
from holdfast.services import reads
from holdfast.services.access import authentication
from holdfast.services.access.authentication import (
    Authenticator,
    new_secret_key,
    secret_hash,
    stored_secret,
)
from holdfast.services.catalog import changes
from holdfast.services.catalog.changes import CatalogEditor
from holdfast.services.idempotency.fingerprint import repeat_key, request_fingerprint
from holdfast.services.idempotency.seal import seal_of
from holdfast.services.waitlist import SESSIONS_PER_RUN
from tests.api.world import (
    EVENT,
    EVENT_ON_SALE,
    NOW,
    ORGANIZATION,
    POOL,
    SESSION,
    StubCatalog,
    StubKeys,
    trusting,
)
from tests.support.memory.store import MemoryStore

ORIGIN = Origin("test", "request-1")
PRINCIPAL = Principal(ORGANIZATION, ApiKeyId(UUID(int=7)), frozenset(ALL_SCOPES))


class TestKeys:
    @pytest.mark.parametrize("mode", Mode)
    def test_only_the_hash_of_a_new_key_is_stored(self, mode: Mode) -> None:
        secret, stored = new_secret_key(mode)
        assert secret.startswith(f"hk_{mode}_")
        assert len(secret) >= 8 + 43
        assert stored.secret_hash == sha256(secret.encode()).digest()
        assert secret.startswith(stored.prefix)
        assert len(stored.prefix) < 16
        assert stored_secret(secret).secret_hash == stored.secret_hash
        assert new_secret_key(mode)[0] != secret

    def test_a_key_is_looked_up_again_after_ten_seconds(self) -> None:
        keys, now = StubKeys(), [100.0]
        hashed = hashed_key(keys)
        authenticator = Authenticator(keys, clock=lambda: now[0])
        authenticator.trust(60)
        assert authenticator.remembered(hashed) is None
        assert hashed in authenticator.find([hashed])
        keys.principals.clear()
        now[0] += 9.9
        assert authenticator.remembered(hashed) is not None
        now[0] += 0.1
        assert authenticator.remembered(hashed) is None
        assert authenticator.was_known(hashed)
        assert authenticator.find([hashed]) == {}
        assert not authenticator.was_known(hashed)

    def test_the_cache_is_bounded_and_evicts_the_least_recently_used(self) -> None:
        keys = StubKeys()
        first, second, third = (
            sha256(keys.new_key("holds:read").encode()).digest() for _ in range(3)
        )
        authenticator = trusting(keys, size_max=2)
        authenticator.find([first])
        authenticator.find([second])
        authenticator.remembered(first)
        authenticator.find([third])
        assert authenticator.remembered(first)
        assert authenticator.remembered(second) is None

    def test_an_announced_change_is_effective_at_once(self) -> None:
        keys = StubKeys()
        changed, other = hashed_key(keys), hashed_key(keys)
        authenticator = trusting(keys)
        authenticator.find([changed, other])
        authenticator.forget(keys.principals[changed].key_id)
        assert authenticator.remembered(changed) is None
        assert authenticator.remembered(other) is not None
        assert authenticator.was_known(changed)
        authenticator.forget(None)
        assert authenticator.remembered(other) is None

    def test_a_new_key_that_was_tried_too_early_works_when_it_is_announced(self) -> None:
        keys = StubKeys()
        early = hashed_key(keys)
        principal = keys.principals.pop(early)
        authenticator = trusting(keys)
        authenticator.find([early])
        assert authenticator.is_unknown(early)
        keys.principals[early] = principal
        authenticator.forget(principal.key_id)
        assert not authenticator.is_unknown(early)

    @pytest.mark.parametrize("is_announced", [True, False])
    def test_a_key_revoked_during_its_look_up_is_not_remembered(self, is_announced: bool) -> None:
        """Without the announcement it is: the control."""

        class Revoking(StubKeys):
            def find(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, Principal]:
                found = super().find(secret_hashes)
                if is_announced:
                    authenticator.forget(found[hashed].key_id)
                return found

        keys = Revoking()
        hashed = hashed_key(keys)
        authenticator = trusting(keys)
        authenticator.find([hashed])
        assert (authenticator.remembered(hashed) is None) == is_announced

    @pytest.mark.parametrize("is_own", [True, False])
    def test_only_an_organizations_own_revocations_overtake_its_look_ups(
        self, is_own: bool
    ) -> None:
        class Revoking(StubKeys):
            def find(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, Principal]:
                found = super().find(secret_hashes)
                authenticator.forget_organization(ORGANIZATION if is_own else UUID(int=99))
                return found

        keys = Revoking()
        hashed = hashed_key(keys)
        authenticator = trusting(keys)
        authenticator.find([hashed])
        assert keys.questions == (authentication.LOOKUPS_MAX if is_own else 1)
        assert (authenticator.remembered(hashed) is None) == is_own

    def test_a_look_up_repeated_for_one_key_leaves_the_others_of_the_batch_alone(self) -> None:
        asked: list[int] = []

        class Revoking(StubKeys):
            def find(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, Principal]:
                found = super().find(secret_hashes)
                asked.append(len(secret_hashes))
                authenticator.forget(self.principals[changed].key_id)
                return found

        keys = Revoking()
        changed, other = hashed_key(keys), hashed_key(keys)
        authenticator = trusting(keys)
        assert set(authenticator.find([changed, other])) == {changed, other}
        assert asked == [2, 1, 1]
        assert authenticator.remembered(other) is not None

    def test_forgetting_costs_the_same_however_much_is_remembered(self) -> None:
        def calls_to_forget(count: int) -> int:
            keys = StubKeys()
            authenticator = trusting(keys)
            authenticator.find([hashed_key(keys) for _ in range(count)])
            calls = 0

            def count_call(_frame: object, event: str, _argument: object) -> None:
                nonlocal calls
                calls += event in {"call", "c_call"}

            sys.setprofile(count_call)
            try:
                authenticator.forget_organization(ORGANIZATION)
            finally:
                sys.setprofile(None)
            return calls

        assert calls_to_forget(1) == calls_to_forget(500)

    def test_changes_beyond_the_bound_make_what_was_looked_up_before_stale(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What was looked up afterwards stays: the control."""
        monkeypatch.setattr(authentication, "CHANGED_MAX", 2)
        keys = StubKeys()
        revoked, later = hashed_key(keys), hashed_key(keys)
        authenticator = trusting(keys)
        authenticator.find([revoked])
        authenticator.forget(keys.principals[revoked].key_id)
        authenticator.find([later])
        for number in range(2):
            authenticator.forget(UUID(int=900 + number))
        assert authenticator.remembered(revoked) is None
        assert authenticator.remembered(later) is not None

    def test_a_process_that_hears_of_no_changes_remembers_nothing(self) -> None:
        keys, now = StubKeys(), [100.0]
        hashed = hashed_key(keys)
        authenticator = Authenticator(keys, clock=lambda: now[0])
        authenticator.find([hashed])
        assert authenticator.remembered(hashed) is None
        authenticator.trust(2)
        assert authenticator.remembered(hashed) is not None
        now[0] += 2
        assert authenticator.remembered(hashed) is None

    def test_a_key_is_not_remembered_beyond_its_expiry(self) -> None:
        keys, now = StubKeys(), [100.0]
        hashed = hashed_key(keys)
        keys.principals[hashed] = replace(keys.principals[hashed], expires_in_seconds=3.0)
        authenticator = Authenticator(keys, clock=lambda: now[0])
        authenticator.trust(60)
        authenticator.find([hashed])
        now[0] += 2.9
        assert authenticator.remembered(hashed) is not None
        now[0] += 0.1
        assert authenticator.remembered(hashed) is None


def hashed_key(keys: StubKeys) -> bytes:
    hashed = secret_hash(keys.new_key("holds:read").encode())
    assert hashed is not None
    return hashed


class TestIdempotency:
    def test_different_requests_have_different_fingerprints(self) -> None:
        prints = {
            request_fingerprint("POST", "/api/holds", b"{}"),
            request_fingerprint("PATCH", "/api/holds", b"{}"),
            request_fingerprint("POST", "/api/events", b"{}"),
            request_fingerprint("POST", "/api/holds", b"[]"),
        }
        assert len(prints) == 4

    def test_the_digest_covers_the_api_key_and_the_idempotency_key(self) -> None:
        key = repeat_key(PRINCIPAL, "k", b"f")
        expected = sha256(PRINCIPAL.credential_id.bytes + b"k").digest()[:16]
        assert (key.organization_id, key.digest.bytes) == (ORGANIZATION, expected)

    def test_an_idempotency_key_never_collides_with_a_chosen_hold_id(self) -> None:
        hold_id = uuid4()
        assert repeat_key_text("sent", hold_id) == "sent"
        assert repeat_key_text(None, None) is None
        implied = repeat_key_text(None, hold_id)
        assert implied is not None
        assert " " in implied


class TestSealing:
    def test_only_the_same_seal_opens_a_sealed_answer(self) -> None:
        seal = seal_of(b"hk_test_one", "key", b"f")
        closed = seal.close(b"201{}")
        assert seal_of(b"hk_test_one", "key", b"f").open(closed) == b"201{}"
        assert b"201" not in closed
        for other in (
            seal_of(b"hk_test_two", "key", b"f"),
            seal_of(b"hk_test_one", "yek", b"f"),
            seal_of(b"hk_test_one", "key", b"g"),
            seal_of(b"hk_test_on", "ekey", b"f"),
        ):
            with pytest.raises(InvalidTag):
                other.open(closed)

    def test_an_answer_stored_in_plain_text_can_be_read(self) -> None:
        assert seal_of(b"hk_test_one", "key", b"f").open(b"409{}") == b"409{}"

    def test_the_repr_of_a_seal_reveals_no_secret(self) -> None:
        assert "hk_test_one" not in repr(seal_of(b"hk_test_one", "key", b"f"))


class Away(MemoryStore):
    def hold(self, organization_id: OrganizationId, hold_id: HoldId) -> SeenHold | None:
        raise StoreUnavailable


class TestReading:
    def test_a_missing_hold_and_an_unavailable_store_are_refusals(self) -> None:
        store = MemoryStore(lambda: datetime.now(UTC))
        missing = reads.hold(store, ORGANIZATION, HoldId(uuid4()))
        away = reads.hold(Away(store.clock), ORGANIZATION, HoldId(uuid4()))
        assert isinstance(missing, Refusal)
        assert isinstance(away, Refusal)
        assert missing.code is RefusalCode.HOLD_NOT_FOUND
        assert away.code is RefusalCode.SERVICE_UNAVAILABLE


@dataclass
class StubEngine:
    """Gives every command the same answer, or none."""

    answer: Answer | None = None
    commands: list[Command] = field(default_factory=list)

    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        self.commands.append(command)
        future: Future[Answer] = Future()
        if self.answer is not None:
            future.set_result(self.answer)
        return future


def office(catalog: StubCatalog, engine: StubEngine | None = None) -> CatalogEditor:
    submit = engine or StubEngine()
    return CatalogEditor(catalog, submit, ORGANIZATION, ORIGIN, None, lambda _: b"")


class TestCatalogChanges:
    @pytest.mark.parametrize(
        "answer",
        [None, Answer(service_unavailable())],
        ids=["an engine that is late", "an engine that refuses"],
    )
    def test_a_change_succeeds_even_if_the_promotion_fails(
        self, answer: Answer | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(changes, "PROMOTION_SECONDS_MAX", 0.01)
        engine = StubEngine(answer)
        catalog = StubCatalog(unsettled=(SESSION,))
        created = office(catalog, engine).create_event("Gala", "EUR", PolicyOverride(), SALE)
        assert created.outcome == EVENT_ON_SALE
        (command,) = engine.commands
        assert isinstance(command, PromoteWaiting)
        assert command.session_key == (ORGANIZATION, SESSION)

    def test_waitlists_beyond_one_run_are_left_to_the_promoter(self) -> None:
        engine = StubEngine(Answer(Promoted(1, NOW)))
        many = tuple(SessionId(uuid4()) for _ in range(SESSIONS_PER_RUN + 1))
        office(StubCatalog(unsettled=many), engine).change_pool(POOL, "x", None)
        assert len(engine.commands) == SESSIONS_PER_RUN

    def test_a_policy_change_keeps_other_fields_and_null_clears_one(self) -> None:
        catalog = StubCatalog()
        editor = office(catalog)
        editor.change_event(EVENT, None, PolicyChange(ttl_seconds=60), None)
        editor.change_event(EVENT, "New name", None, None)
        assert catalog.changes == [
            ChangeEvent(ORGANIZATION, EVENT, None, PolicyChange(ttl_seconds=60)),
            ChangeEvent(ORGANIZATION, EVENT, "New name", None),
        ]
        before = PolicyOverride(300, 8)
        assert before.changed(PolicyChange(ttl_seconds=60)) == PolicyOverride(60, 8)
        assert before.changed(PolicyChange(quantity_max=None)) == PolicyOverride(300, None)

    def test_a_capacity_creates_a_pool_named_after_the_ticket_type(self) -> None:
        catalog = StubCatalog()
        office(catalog).create_ticket_type(
            session_id=SESSION,
            name="Floor",
            price_minor=4500,
            pool_ids=(),
            capacity=500,
            policy=PolicyOverride(),
            is_seated=False,
        )
        (change,) = catalog.changes
        assert isinstance(change, CreateTicketType)
        assert change.own_pool is not None
        assert (change.own_pool.name, change.own_pool.total) == ("Floor", 500)
        assert change.own_pool.session_id == SESSION

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (StoreUnavailable(), RefusalCode.SERVICE_UNAVAILABLE),
            (Rejected(), RefusalCode.INTERNAL_ERROR),
        ],
    )
    def test_a_store_that_fails_is_a_refusal(self, error: StoreError, code: RefusalCode) -> None:
        answer = office(StubCatalog(error=error)).change_pool(POOL, "x", None)
        assert isinstance(answer.outcome, Refusal)
        assert answer.outcome.code is code
