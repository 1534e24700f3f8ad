"""The Hold Service's calls about one hold, with ticket types by name."""

from dataclasses import dataclass, field
from uuid import uuid4

from holdfast.domain.group.origin import IdempotencyKey
from holdfast.domain.group.outcomes import Reserved
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId, OrganizationId, SessionId
from holdfast.domain.inventory.commit_tickets import CommitTickets
from holdfast.domain.inventory.release_tickets import ReleaseTickets
from holdfast.domain.inventory.reservation import ReservedLine, lines_of
from holdfast.domain.inventory.reserve_tickets import ReserveTickets
from holdfast.engine import Admission
from tests.contract.asking import ask
from tests.contract.venues import ORIGIN, Venue


@dataclass(frozen=True)
class Calls:
    venue: Venue
    hold_id: HoldId = field(default_factory=lambda: HoldId(uuid4()))

    def hold(self, **quantities: int) -> ReserveTickets:
        return ReserveTickets(*self._about, self._lines(quantities), ORIGIN)

    def release(self, key: IdempotencyKey | None = None) -> ReleaseTickets:
        return ReleaseTickets(*self._about, ORIGIN, key)

    def commit(self, **quantities: int) -> CommitTickets:
        return CommitTickets(*self._about, self._lines(quantities), ORIGIN)

    @property
    def _about(self) -> tuple[OrganizationId, HoldId, SessionId]:
        return (self.venue.organization_id, self.hold_id, self.venue.session_id)

    def _lines(self, quantities: dict[str, int]) -> tuple[ReservedLine, ...]:
        types = self.venue.ticket_types
        return tuple(ReservedLine(types[name], units) for name, units in quantities.items())

    def shown(self, hold: Hold) -> dict[str, int]:
        """What the reservation takes from the inventory."""
        names = {id_: name for name, id_ in self.venue.ticket_types.items()}
        return {names[line.ticket_type_id]: line.quantity for line in lines_of(hold)}


def reserved(engine: Admission, command: ReserveTickets | ReleaseTickets | CommitTickets) -> Hold:
    return _reserved(engine, command, is_repeat=False)


def repeated(engine: Admission, command: ReserveTickets | ReleaseTickets | CommitTickets) -> Hold:
    return _reserved(engine, command, is_repeat=True)


def _reserved(
    engine: Admission,
    command: ReserveTickets | ReleaseTickets | CommitTickets,
    *,
    is_repeat: bool,
) -> Hold:
    outcome = ask(engine, command)
    assert isinstance(outcome, Reserved), outcome
    assert outcome.is_repeat is is_repeat
    return outcome.hold
