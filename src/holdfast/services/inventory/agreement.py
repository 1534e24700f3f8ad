"""Decides what has to be done so that the two services agree about a hold."""

from collections.abc import Mapping
from enum import Enum, auto

from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.ports.inventory.reconciliation import OurSide
from holdfast.ports.inventory.service import Reservation, reservation_of


class Step(Enum):
    NOTHING = auto()
    FAIL = auto()  # here: the pending hold
    RELEASE = auto()  # there
    COMMIT = auto()  # there
    RESERVE = auto()  # there
    EXPIRE = auto()  # here: the active hold
    ALARM = auto()  # a contradiction, which only people can resolve


@immutable
class Remedy:
    step: Step
    difference: str = ""


AGREED = Remedy(Step.NOTHING)


def remedy_for(ours: OurSide | None, theirs: Reservation | None) -> Remedy:
    """`theirs` is None if the Inventory Service has no reservation for the hold."""
    if ours is None:
        return _of_unknown_hold(theirs)
    hold = ours.hold
    if hold.is_pending():
        return Remedy(Step.FAIL, "pending for too long")
    if theirs is not None and theirs.session_id != hold.session_id:
        return _of_same_id(hold)
    if hold.is_converted():
        return _of_sale(ours.sold, theirs)
    if hold.is_over():
        return _of_end(hold, theirs)
    # A lapsed hold expires soon, and gets a task then.
    return _of_active(hold, theirs) if hold.is_active(ours.at) else AGREED


def _of_unknown_hold(theirs: Reservation | None) -> Remedy:
    if theirs is None or theirs.status is ReservationStatus.RELEASED:
        return AGREED
    if theirs.status is ReservationStatus.COMMITTED and not theirs.lines:
        return AGREED  # all its tickets were cancelled
    step = Step.RELEASE if theirs.status is ReservationStatus.HELD else Step.ALARM
    return Remedy(step, f"unknown here, {theirs.status.value} there")


def _of_same_id(hold: Hold) -> Remedy:
    """The reservation belongs to a different hold with the same id."""
    if hold.is_over() and not hold.is_converted():
        return AGREED
    return Remedy(Step.ALARM, f"{hold.status.value} here, of another session there")


def _of_end(hold: Hold, theirs: Reservation | None) -> Remedy:
    """A hold that is unknown there is released, too: its call may still arrive."""
    if theirs is None:
        return Remedy(Step.RELEASE, f"{hold.status.value} here, unknown there")
    if theirs.status is ReservationStatus.RELEASED:
        return AGREED
    step = Step.RELEASE if theirs.status is ReservationStatus.HELD else Step.ALARM
    return Remedy(step, f"{hold.status.value} here, {theirs.status.value} there")


def _of_active(hold: Hold, theirs: Reservation | None) -> Remedy:
    if theirs is None:
        return Remedy(Step.RESERVE, "active here, unknown there")
    if theirs.status is ReservationStatus.RELEASED:
        return Remedy(Step.EXPIRE, "active here, released there")
    if theirs.status is ReservationStatus.COMMITTED:
        return Remedy(Step.ALARM, "active here, committed there")
    if theirs.lines != reservation_of(hold).lines:
        return Remedy(Step.ALARM, "active here, other tickets are held there")
    return AGREED


def _of_sale(sold: Mapping[TicketTypeId, int], theirs: Reservation | None) -> Remedy:
    if theirs is None or theirs.status is ReservationStatus.RELEASED:
        there = "unknown" if theirs is None else "released"
        return Remedy(Step.ALARM, f"sold here, {there} there") if sold else AGREED
    if any(theirs.lines.get(each, 0) < quantity for each, quantity in sold.items()):
        return Remedy(Step.ALARM, "more tickets are sold here than there")
    if theirs.status is ReservationStatus.HELD:
        return Remedy(Step.COMMIT, "sold here, held there")
    if theirs.lines != sold:
        return Remedy(Step.COMMIT, "fewer tickets are sold here than there")
    return AGREED
