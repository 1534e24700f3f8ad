"""Reads both sides of a hold, and takes the steps that make them agree."""

from collections.abc import Callable
from dataclasses import replace

import structlog
from uuid_utils.compat import uuid7

from holdfast.domain import refusals
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import Origin
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.holds.settle_hold import SettleHold
from holdfast.domain.ids import HoldId
from holdfast.domain.immutable import immutable
from holdfast.ports.engine import Submit
from holdfast.ports.inventory.reconciliation import OurSide
from holdfast.ports.inventory.service import (
    Inventory,
    InventoryConflict,
    Reservation,
    reservation_of,
)
from holdfast.services.inventory.agreement import Remedy, Step, remedy_for

LOOKS_MAX = 3
ENGINE_SECONDS_MAX = 10.0

_log = structlog.get_logger("holdfast.reconciler")


@immutable
class Look:
    """Both sides of a hold at the same time, and how they differ."""

    ours: OurSide | None
    theirs: Reservation | None
    remedy: Remedy


class NotMended(Exception):
    """Another attempt may succeed."""


class Mender:
    """Every call may raise InventoryUnavailable, StoreError or NotMended."""

    def __init__(self, inventory: Inventory, submit: Submit) -> None:
        self._inventory = inventory
        self._submit = submit

    def look(self, hold_id: HoldId, read: Callable[[], OurSide | None]) -> Look:
        """Ask between two reads of our side that are the same: otherwise the answer may be about
        another state of the hold."""
        ours = read()
        if ours is not None and ours.hold.is_pending():
            return Look(ours, None, remedy_for(ours, None))  # whatever the other side says
        for _ in range(LOOKS_MAX):
            theirs = self._inventory.find(hold_id)
            before, ours = ours, read()
            if _version(before) == _version(ours):
                return Look(ours, theirs, remedy_for(ours, theirs))
        raise NotMended("the hold keeps changing")

    def take(self, step: Step, ours: OurSide) -> Step:
        """Take this step, or the one that has to replace it. May raise InventoryConflict."""
        hold = ours.hold
        reservation = reservation_of(hold)
        match step:
            case Step.FAIL:
                refusal = refusals.service_unavailable()
                self._do(SettleHold(hold.organization_id, hold.id, _origin(), refusal))
            case Step.EXPIRE:
                self._expire(hold)
            case Step.RELEASE:
                self._inventory.release(reservation)
            case Step.COMMIT:
                self._inventory.commit(replace(reservation, lines=ours.sold))
            case Step.RESERVE if not self._reserve(reservation):
                self._expire(hold)
                return Step.EXPIRE
        return step

    def release(self, orphan: Reservation) -> None:
        """Give back the tickets of a hold that does not exist here. May raise InventoryConflict."""
        self._inventory.release(orphan)

    def _reserve(self, reservation: Reservation) -> bool:
        try:
            return self._inventory.hold(reservation).refusal is None
        except InventoryConflict as error:
            hold_id = str(reservation.hold_id)
            _log.warning("reconciler.not_reserved", hold_id=hold_id, problem=error.reason)
            return False

    def _expire(self, hold: Hold) -> None:
        self._do(
            ReleaseHold(
                hold.organization_id,
                hold.id,
                _origin(),
                is_operator=True,
                is_expired=True,
                seen_version=hold.version,
            )
        )

    def _do(self, command: Command) -> None:
        """The next look shows whether it took effect."""
        try:
            self._submit.submit(command).result(ENGINE_SECONDS_MAX)
        except TimeoutError:
            raise NotMended("the engine did not answer in time") from None


def _version(ours: OurSide | None) -> object:
    return None if ours is None else ours.version


def _origin() -> Origin:
    return Origin(actor="reconciler", request_id=str(uuid7()))
