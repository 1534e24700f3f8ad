"""Finds and changes single holds for commands, through an engine of their own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID

from holdfast.adapters.postgres.access.organizations import PostgresOrganizations, Side
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.organizations import operator_origin
from holdfast.bootstrap.settings import Settings
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Outcome
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.holds import HoldFilter, SeenHold, SeenPlace
from holdfast.ports.paging import PageRequest

# Longer than the engine's own deadline: it answers every command.
_GRACE_SECONDS = 5


class UnknownHold(Exception):
    """There is no hold with this id or reference."""


class AmbiguousHold(Exception):
    """Several organizations have such a hold."""

    def __init__(self, sides: Sequence[Side]) -> None:
        super().__init__()
        self.sides = sides


class Unanswered(Exception):
    """The engine gave no answer in time. The command may still take effect."""


class HoldDesk:
    def __init__(self, settings: Settings, room: EngineRoom) -> None:
        self._settings = settings
        self._room = room

    def find(self, name: str, organization_id: OrganizationId | None) -> SeenHold:
        """The hold with this id or reference. Without an organization, all are searched."""
        hold_id = _uuid(name)
        reference = None if hold_id else name.strip().upper()
        if organization_id is None:
            organizations = PostgresOrganizations(self._settings.required_owner_url)
            sides = organizations.with_hold(hold_id, reference)
            if len(sides) > 1:
                raise AmbiguousHold(sides)
            if not sides:
                raise UnknownHold
            organization_id = sides[0].organization_id
        if hold_id is not None:
            seen = self._room.holds.hold(organization_id, HoldId(hold_id))
        else:
            only = HoldFilter(reference=reference)
            page = self._room.holds.holds(organization_id, only, PageRequest())
            seen = next(iter(page.items), None)
        if seen is None:
            raise UnknownHold
        return seen

    def place(self, seen: SeenHold) -> SeenPlace | None:
        """Its place on the waitlist, if it waits."""
        return self._room.holds.waiting_position(seen.hold.organization_id, seen.hold.id)

    def origin(self, reason: str) -> Origin:
        return replace(operator_origin(), reason=reason)

    def act(self, command: Command) -> Outcome | Refusal:
        deadline_seconds = self._room.deadline_seconds + _GRACE_SECONDS
        try:
            answer = self._room.submit.submit(command).result(deadline_seconds)
        except TimeoutError:
            raise Unanswered from None
        assert answer.outcome is not None, "commands without an idempotency key have no replays"
        return answer.outcome


@contextmanager
def hold_desk(settings: Settings) -> Iterator[HoldDesk]:
    with EngineRoom(settings).running() as room:
        yield HoldDesk(settings, room)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None
