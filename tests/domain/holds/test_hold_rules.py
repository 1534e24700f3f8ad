"""References, policies, and the effects of transitions."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.catalog.model import Pool, SaleTerms
from holdfast.domain.facts import fact_payload, iso
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.transitions import Transition, moves_of
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.holds.new_hold import REFERENCE_LETTERS, reference_of
from holdfast.domain.ids import OrganizationId, PoolId
from holdfast.domain.policy import (
    POLICY_FIELDS,
    HoldPolicy,
    PolicyChange,
    PolicyOverride,
    nearest_policy,
)
from holdfast.domain.values import InvalidValue
from tests.domain.holds.test_hold import BEFORE_END, END, a_hold

ORIGIN = Origin("test", "1")


def test_references_never_collide() -> None:
    assert len({reference_of(number) for number in range(50_000)}) == 50_000


@given(st.integers(0, 31**6 - 1))
def test_references_have_six_unambiguous_characters(number: int) -> None:
    reference = reference_of(number)
    assert len(reference) == 6
    assert set(reference) <= set(REFERENCE_LETTERS)
    assert not set("01OIL") & set(REFERENCE_LETTERS)


def test_references_grow_longer_when_they_run_out() -> None:
    assert len(reference_of(31**6)) == 7


def test_an_inherited_lifetime_leaves_time_to_pay() -> None:
    event, ticket_type = PolicyOverride(lifetime_max_seconds=600), PolicyOverride(ttl_seconds=1800)
    assert nearest_policy(event, ticket_type).lifetime_max_seconds == 1800 + 300
    assert nearest_policy(ticket_type).lifetime_max_seconds == 1800 + 300
    equal = PolicyOverride(ttl_seconds=600, lifetime_max_seconds=600)
    assert nearest_policy(equal).lifetime_max_seconds == 600, "set on purpose"


def test_the_nearest_policy_wins_field_by_field() -> None:
    organization = PolicyOverride(ttl_seconds=900, quantity_max=20)
    event = PolicyOverride(ttl_seconds=300)
    ticket_type = PolicyOverride(quantity_max=4)
    assert nearest_policy() == HoldPolicy(600, 10_000)
    assert nearest_policy(organization, event, ticket_type) == HoldPolicy(300, 4)


@pytest.mark.parametrize("name", POLICY_FIELDS)
def test_policies_are_bounded_and_their_defaults_and_examples_are_within(name: str) -> None:
    bounds = POLICY_FIELDS[name].bounds
    default = getattr(HoldPolicy(), name)
    if bounds is None:
        assert default is False
        return
    for fits in (bounds.least, bounds.most, bounds.example, default):
        assert PolicyOverride(**{name: fits}).values == {name: fits}
    for beyond in (bounds.least - 1, bounds.most + 1):
        with pytest.raises(InvalidValue, match=name):
            PolicyOverride(**{name: beyond})


def test_a_change_leaves_the_other_fields_and_none_clears_one() -> None:
    before = PolicyOverride(ttl_seconds=300, waitlist=True)
    after = before.changed(PolicyChange(ttl_seconds=None, quantity_max=4))
    assert after == PolicyOverride(quantity_max=4, waitlist=True)
    assert after.in_order()[:3] == (None, 4, None)
    assert list(after.by_name()) == list(POLICY_FIELDS)


def test_a_pool_is_never_oversold_and_never_below_zero() -> None:
    organization_id, pool_id = OrganizationId(uuid4()), PoolId(uuid4())
    full = Pool(organization_id, pool_id, 3, held=1, sold=2)
    assert full.free == 0
    assert full.moved(-1, 1) == Pool(organization_id, pool_id, 3, held=0, sold=3)
    for held, sold in ((1, 0), (0, 1), (-2, 0), (0, -3)):
        with pytest.raises(ValueError, match="impossible pool"):
            full.moved(held, sold)


def test_a_sale_includes_its_first_and_its_last_moment() -> None:
    moment = timedelta(microseconds=1)
    start, end = END, END + timedelta(hours=1)
    sale = SaleTerms(starts_at=start, ends_at=end)
    assert [sale.is_within_window(at) for at in (start - moment, start)] == [False, True]
    assert [sale.is_within_window(at) for at in (end, end + moment)] == [True, False]
    assert [sale.is_over(at) for at in (start - moment, end, end + moment)] == [False, False, True]
    always = SaleTerms()
    assert always.is_within_window(end)
    assert not always.is_over(end)


def test_a_released_hold_frees_what_it_took_from_its_pools() -> None:
    hold = a_hold()
    begun = Transition(None, hold, ORIGIN)
    ended = Transition(hold, hold.released(BEFORE_END), ORIGIN)
    assert sorted(moves_of([begun]).held.values()) == [1, 2]
    assert sorted(moves_of([begun]).lapse.values()) == [1, 2]
    held, sold, lapse = moves_of([begun, ended])
    assert (sold, {*held.values(), *lapse.values()}) == ({}, {0})


def test_a_converted_hold_turns_held_into_sold() -> None:
    hold = a_hold()
    converted = replace(hold, status=HoldStatus.CONVERTED)
    held, sold, _ = moves_of([Transition(hold, converted, ORIGIN)])
    assert sorted((held[pool_id], sold[pool_id]) for pool_id in held) == [(-2, 2), (-1, 1)]


def test_only_the_created_fact_contains_the_email() -> None:
    hold = replace(a_hold(), lines=a_hold().lines[:1])
    created = fact_payload(Transition(None, hold, ORIGIN))
    assert created == {
        "hold_id": str(hold.id),
        "session_id": str(hold.session_id),
        "ticket_type_id": str(hold.lines[0].ticket_type_id),
        "quantity": 2,
        "customer_email": "user@example.com",
        "expires_at": "2030-01-15T10:30:00Z",
    }
    expired = fact_payload(Transition(hold, hold.expired(END), ORIGIN))
    assert set(expired) == {
        "hold_id",
        "session_id",
        "ticket_type_id",
        "quantity",
        "freed_quantity",
    }


def test_a_hold_of_several_lines_names_no_single_ticket_type() -> None:
    payload = fact_payload(Transition(None, a_hold(), ORIGIN))
    assert "ticket_type_id" not in payload
    assert payload["quantity"] == 3
    lines = payload["lines"]
    assert isinstance(lines, list)
    assert len(lines) == 2


def test_times_are_written_in_utc() -> None:
    assert iso(END) == "2030-01-15T10:30:00Z"
