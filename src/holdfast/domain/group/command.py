"""The base class of all commands. A command defines in one module what it looks up, what it locks,
how it is decided, how the audit names a refused attempt, and whether people wait for it."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from holdfast.domain.group.footprint import Footprint, Needs
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore
from holdfast.domain.group.plan import GroupPlan, key_of, resources_of, seats_of
from holdfast.domain.holds.placement import NOTHING_ASKED, Asked
from holdfast.domain.ids import (
    HoldId,
    HoldKey,
    OrderId,
    OrganizationId,
    SeatId,
    SessionKey,
)
from holdfast.domain.refusal_codes import Refusal


class FailedAction(NamedTuple):
    """The audit's name for a refused command, with the hold, seat or order it was about, and what
    it asked for."""

    action: str
    hold_id: HoldId | None = None
    seat_id: SeatId | None = None
    asked: Asked = NOTHING_ASKED
    order_id: OrderId | None = None


class Command(ABC):
    __slots__ = ()

    organization_id: OrganizationId
    origin: Origin
    idempotency: IdempotencyKey | None

    # Nobody waits for the answer: people's commands come first.
    is_background: ClassVar[bool] = False
    # The buyer can choose another seat, so waits only briefly for a locked one.
    can_choose_seats: ClassVar[bool] = False
    # It gives a buyer time to pay, so a refusal has to be logged.
    gives_time: ClassVar[bool] = False
    # Whether it locks the waitlists of its sessions, and whether it may free places for them.
    locks_waitlists: ClassVar[bool] = True
    frees_places: ClassVar[bool] = True

    @abstractmethod
    def needs(self, learnt: NeedsMore) -> Needs:
        """The data the unlocked survey must read, including what earlier rounds found missing."""

    @abstractmethod
    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        """The resources to lock, based on the survey."""

    @abstractmethod
    def decide(self, ledger: Ledger) -> Decision:
        """Read locked values and return the changes. Modify nothing, so that an error fails one
        command and not its group."""

    def failed_action(self, refusal: Refusal) -> FailedAction | None:
        """The audit's entry for this refusal; None if it is not a failed attempt."""
        return None

    @property
    def promotes(self) -> SessionKey | None:
        """The session whose waitlist it always serves, even if it frees no places."""
        return None


class HoldCommand(Command):
    """A command about one hold and its places."""

    __slots__ = ()

    hold_id: HoldId

    @property
    def hold_key(self) -> HoldKey:
        return (self.organization_id, self.hold_id)

    def needs(self, learnt: NeedsMore) -> Needs:
        return Needs(holds=frozenset({self.hold_key}))

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        holds = plan.known((self.hold_key,))
        required = resources_of(holds) | key_of(self)
        return Footprint(frozenset(required), weight=max(1, seats_of(holds)))
