"""What a command touches, and the one order in which it is locked.

A resource sorts by kind, then organization, then name. Every lock in Holdfast is taken in that
order, so no two transactions can wait for each other in a circle:

    1 SESSION          shared; whoever changes the catalogue takes it exclusively
    2 IDEMPOTENCY_KEY  advisory, so that one key has one effect
      HOLD_ID          advisory, for ids that clients choose
    3 POOL             row
    5 HOLD             row          (4 is kept for seats)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

from holdfast.domain.catalogue import SessionCatalogue
from holdfast.domain.commands import Command, PlaceHold, ReleaseHold
from holdfast.domain.hold import Hold
from holdfast.domain.ids import HoldKey, OrganizationId, PoolId, SessionKey


class ResourceKind(IntEnum):
    SESSION = 10
    IDEMPOTENCY_KEY = 20
    HOLD_ID = 21
    POOL = 30
    HOLD = 50


class Resource(NamedTuple):
    kind: ResourceKind
    organization_id: OrganizationId
    name: UUID


@dataclass(frozen=True, slots=True)
class Footprint:
    """Without what is `required` a command cannot be decided. What is `optional` (lapsed holds that
    might make room) is taken if nobody else has it."""

    required: frozenset[Resource]
    optional: frozenset[Resource] = frozenset()


@dataclass(frozen=True, slots=True)
class Needs:
    """What the unlocked look ahead has to find."""

    sessions: frozenset[SessionKey] = frozenset()
    holds: frozenset[HoldKey] = frozenset()
    lapsed: frozenset[tuple[SessionKey, PoolId]] = frozenset()


@dataclass(frozen=True, slots=True)
class Survey:
    """What that look found. It may be stale: it only says what to lock."""

    sessions: Mapping[SessionKey, SessionCatalogue] = field(default_factory=dict)
    holds: Mapping[HoldKey, Hold] = field(default_factory=dict)
    lapsed: Mapping[PoolId, tuple[Hold, ...]] = field(default_factory=dict)


def needs_of(command: Command, lapsed_pools: Iterable[PoolId]) -> Needs:
    match command:
        case PlaceHold():
            lapsed = frozenset((command.session_key, pool_id) for pool_id in lapsed_pools)
            return Needs(sessions=frozenset({command.session_key}), lapsed=lapsed)
        case ReleaseHold():
            return Needs(holds=frozenset({command.hold_key}))
        case _:
            return Needs(holds=frozenset(command.hold_keys))


def footprint_of(command: Command, survey: Survey, lapsed_pools: Iterable[PoolId]) -> Footprint:
    """What is to be locked before the command is decided."""
    resources: set[Resource] = set()
    if command.idempotency is not None:
        key = command.idempotency
        resources.add(Resource(ResourceKind.IDEMPOTENCY_KEY, command.organization_id, key.digest))
    match command:
        case PlaceHold():
            resources |= _footprint_of_place(command, survey)
            optional = _footprint_of_lapsed(survey, lapsed_pools)
            return Footprint(frozenset(resources), optional - resources)
        case ReleaseHold():
            resources |= _footprint_of_holds((command.hold_key,), survey)
        case _:
            resources |= _footprint_of_holds(command.hold_keys, survey)
    return Footprint(frozenset(resources))


def _footprint_of_lapsed(survey: Survey, pools: Iterable[PoolId]) -> frozenset[Resource]:
    resources: set[Resource] = set()
    for pool_id in pools:
        for hold in survey.lapsed.get(pool_id, ()):
            resources |= _resources_of_hold(hold)
    return frozenset(resources)


def _footprint_of_place(command: PlaceHold, survey: Survey) -> set[Resource]:
    organization_id = command.organization_id
    resources = {Resource(ResourceKind.SESSION, organization_id, command.session_id)}
    if command.is_id_from_client:
        resources.add(Resource(ResourceKind.HOLD_ID, organization_id, command.hold_id))
        resources.add(Resource(ResourceKind.HOLD, organization_id, command.hold_id))
    session = survey.sessions.get(command.session_key)
    if session is not None:
        for ask in command.asks:
            offer = session.offers.get(ask.ticket_type_id)
            for pool_id in offer.pool_ids if offer else ():
                resources.add(Resource(ResourceKind.POOL, organization_id, pool_id))
    return resources


def _footprint_of_holds(keys: Iterable[HoldKey], survey: Survey) -> set[Resource]:
    resources: set[Resource] = set()
    for key in keys:
        hold = survey.holds.get(key)
        if hold is not None:
            resources |= _resources_of_hold(hold)
    return resources


def _resources_of_hold(hold: Hold) -> set[Resource]:
    """A hold's session and lines never change, so what an unlocked look saw of them holds."""
    organization_id = hold.organization_id
    resources = {
        Resource(ResourceKind.SESSION, organization_id, hold.session_id),
        Resource(ResourceKind.HOLD, organization_id, hold.id),
    }
    for line in hold.lines:
        for pool_id in line.pool_ids:
            resources.add(Resource(ResourceKind.POOL, organization_id, pool_id))
    return resources
