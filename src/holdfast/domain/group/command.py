"""The base of all commands. A command is a small immutable value that says everything about itself
in one module: what it has to look up, what it locks, how it is decided, what a refused
attempt is called in the audit, and whether people wait for it."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from holdfast.domain.group.footprint import Footprint, Needs
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore
from holdfast.domain.group.planning import GroupPlan
from holdfast.domain.ids import HoldId, OrganizationId, SeatId, SessionKey
from holdfast.domain.refusal_codes import Refusal


class FailedAction(NamedTuple):
    """What the audit calls a refused command, and the hold or the seat that it was about."""

    action: str
    hold_id: HoldId | None = None
    seat_id: SeatId | None = None


class Command(ABC):
    __slots__ = ()

    organization_id: OrganizationId
    origin: Origin
    idempotency: IdempotencyKey | None

    # Nobody waits for it: people's commands come first.
    is_background: ClassVar[bool] = False
    # A buyer who can choose another seat does not wait long for a locked one.
    can_choose_seats: ClassVar[bool] = False
    # It gives a buyer time to pay, and a refusal of that has to be noticed.
    gives_time: ClassVar[bool] = False
    # Whether the waitlists of its sessions are locked, and whether it may free places for them.
    locks_waitlists: ClassVar[bool] = True
    frees_places: ClassVar[bool] = True

    @abstractmethod
    def needs(self, learnt: NeedsMore) -> Needs:
        """What the unlocked look ahead has to find, with what earlier rounds found missing."""

    @abstractmethod
    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        """What it locks, going by that look."""

    @abstractmethod
    def decide(self, ledger: Ledger) -> Decision:
        """Reads locked values and returns what to change; it touches nothing, so an error in it
        costs one command and leaves the rest of the group whole."""

    def failed_action(self, refusal: Refusal) -> FailedAction | None:
        """None where a refusal is nobody's failed attempt."""
        del refusal
        return None

    @property
    def promotes(self) -> SessionKey | None:
        """The session whose waitlist it serves, whatever else it does."""
        return None
